/// \file
/// Shared by the scenarios of messages.
#pragma once

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

/// How often a test looks at a sender that must not be done. Any background thread has acted by then.
inline constexpr int kLooks = 100;

/// Expects that the next collective operation works: nothing is left over from what came before.
inline void still_works(const Communicator& world) {
    std::uint64_t value = world.rank() == 0 ? 4711 : 0;
    world.broadcast(value, 0);
    check(value == 4711, "a broadcast afterwards gave {}", value);
    world.barrier();
}

/// Runs all operations between the two groups in all of their forms, and checks the data. Both groups give the same seed.
void exchange_between_groups(const Intercommunicator& between, bool is_first, std::uint64_t seed);

}  // namespace rollcall::test
