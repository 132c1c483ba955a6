/// \file
/// What scenarios of messages have in common.
#pragma once

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

/// Looks at a sender that must not be done: enough for any background thread to have acted.
inline constexpr int kLooks = 100;

/// The pattern of a rank's message.
inline std::uint64_t key(int from, std::uint64_t round) { return static_cast<std::uint64_t>(from) * 1'000'003 + round; }

/// The next collective must work: nothing is left over from what came before.
inline void still_works(const Communicator& world) {
    std::uint64_t value = world.rank() == 0 ? 4711 : 0;
    world.broadcast(value, 0);
    check(value == 4711, "a broadcast afterwards gave {}", value);
    world.barrier();
}

}  // namespace rollcall::test
