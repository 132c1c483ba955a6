/// \file
/// Who belongs to a communicator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::runtime {

inline constexpr std::uint64_t kNoSlots = ~std::uint64_t{0};

/// The members of a communicator: the same on all of them, and never changed.
struct Group {
    std::uint64_t id = 0;
    std::string name;
    int size = 1;
    std::vector<int> world;                 ///< World rank of each member; empty: the identity.
    std::vector<std::uint64_t> first_slot;  ///< On each member's board; empty: slot 0 on all.
    bool has_slots = true;                  ///< False when some member had no slots left: notices go by message.
    /// Of an intercommunicator: so many of the first members are one of its two groups, the others are the other one. 0: there is one
    /// group.
    int first_group = 0;

    int world_rank(int rank) const noexcept { return world.empty() ? rank : world[static_cast<std::size_t>(rank)]; }
    std::uint64_t slot_of(int on, int writer) const noexcept {
        return (first_slot.empty() ? 0 : first_slot[static_cast<std::size_t>(on)]) + static_cast<std::uint64_t>(writer);
    }
};

}  // namespace rollcall::runtime
