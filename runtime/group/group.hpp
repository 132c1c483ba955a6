/// \file
/// The members of a communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/costs.hpp"

namespace rollcall::runtime {

inline constexpr std::uint64_t kNoSlots = ~std::uint64_t{0};

/// Which members of a group share memory with each other.
struct Nodes {
    std::vector<int> of;                    ///< The node of each member. Nodes are numbered in the order of their lowest members.
    std::vector<std::vector<int>> members;  ///< The members of each node, in rank order.
};

/// Whether no node has less than half as many members as another one. Null: there are not several nodes.
bool are_even(const Nodes* nodes);

/// The members of a communicator. The group is the same on all of them and never changes.
struct Group {
    std::uint64_t id = 0;
    std::string name;
    int size = 1;
    std::vector<int> world;                 ///< World rank of each member; empty: the world rank equals the rank.
    std::vector<int> by_world;              ///< The members in the order of their world ranks; empty: their ranks have this order.
    std::vector<std::uint64_t> first_slot;  ///< The first slot on the board of each member; empty: slot 0 on all boards.
    bool has_slots = true;                  ///< False: some member had no free slots, so notices travel as messages.
    /// For an intercommunicator: this many members, from the first on, form one of its two groups, and the others form the other one. 0:
    /// there is only one group.
    int first_group = 0;
    /// The nodes of a group that is spread over several nodes, of which at least one has several members. Null in all other cases, and
    /// where members have no slots.
    std::shared_ptr<const Nodes> nodes;
    bool on_one_node = false;  ///< All members share memory and have slots.
    /// What communication costs. The same values on all members.
    const Costs* costs = &kBuiltInCosts;

    int world_rank(int rank) const noexcept { return world.empty() ? rank : world[static_cast<std::size_t>(rank)]; }
    /// The rank of the member with this world rank; -1: there is none. It takes about as many steps as `size` has binary digits.
    int rank_of(int world_rank) const noexcept;
    std::uint64_t slot_of(int on, int writer) const noexcept {
        return (first_slot.empty() ? 0 : first_slot[static_cast<std::size_t>(on)]) + static_cast<std::uint64_t>(writer);
    }
};

/// A member in sentences: "rank 2", or "rank 2 of the second group" where there are two.
std::string member_name(const Group& group, int member);

/// Sets `group.by_world` after `group.world` has been set. In most groups the ranks have the order of the world ranks, so that no memory is
/// needed.
void sort_members(Group& group);

/// Sets `group.nodes`. For each world rank, `sharing` has the lowest world rank with which it shares memory: its own one if there is none.
void find_nodes(Group& group, std::span<const int> sharing);

}  // namespace rollcall::runtime
