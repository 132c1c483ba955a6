/// \file
/// One rank's view of the memory that the ranks of its node share.
///
/// Whoever has data publishes it once, in its own region, and goes on; whoever needs it copies it out, or reads it in place, when it
/// comes. No message is handled, and nobody waits for anybody but the publisher.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/group/group.hpp"
#include "runtime/node/layout.hpp"
#include "runtime/node/pool.hpp"

namespace rollcall::runtime::node {

/// The memory of a node: regions of all its ranks, and a byte for each that says whether it sleeps.
struct Shared {
    std::byte* memory = nullptr;
    Geometry geometry;
    int ranks = 0;

    std::size_t head_bytes() const noexcept { return Geometry::round_up(static_cast<std::size_t>(ranks), Geometry::kPage); }
    std::size_t bytes() const noexcept { return head_bytes() + static_cast<std::size_t>(ranks) * geometry.bytes(); }
    Region region(int rank) const noexcept { return {memory + head_bytes() + static_cast<std::size_t>(rank) * geometry.bytes(), geometry}; }
};

/// Owner-only, but for set_sleeping() of other processes.
class NodeMemory {
  public:
    /// `rank_on_node` by world rank; -1: elsewhere. The memory must outlive this. The geometry is the same on all ranks.
    NodeMemory(const Shared& shared, int own_rank_on_node, std::vector<int> rank_on_node, Landing& landing);

    /// Whether all of a group are on this node. The same on all of them.
    bool holds(const Group& group) const;

    Pool& pool() noexcept { return pool_; }
    const Region& own() const noexcept { return own_; }
    Region region_of(int world_rank) const noexcept { return shared_.region(on_node(world_rank)); }

    /// An entry for `readers` readers. What it says is written between claim() and show(). The publisher's own group is remembered, so
    /// that the entry can be taken back when a reader dies. Gives the generation of the entry.
    std::uint32_t claim(Entry& entry, std::shared_ptr<const Group> group, std::uint64_t sequence, std::uint32_t readers);
    static void show(Entry& entry, const Group& group) noexcept {
        entry.key.store(key_of(group.id, entry.sequence), std::memory_order_release);
    }
    /// Whether all readers of what was last published in it have let go.
    static bool is_free(const Entry& entry) noexcept { return readers_of(entry.state.load(std::memory_order_acquire)) == 0; }
    /// What this rank has published, of which communicator and in which operation.
    struct Claim {
        Entry* entry;
        std::shared_ptr<const Group> group;
        std::uint64_t sequence;
        std::uint32_t generation;  ///< Of the entry. When it has another one, something else was published in it since.

        bool is_unread() const noexcept {
            const State state = entry->state.load(std::memory_order_acquire);
            return readers_of(state) > 0 && generation_of(state) == generation;
        }
    };
    /// Of publications that not all readers have let go of, and of some others.
    const std::vector<Claim>& claims() const noexcept { return claims_; }
    /// Takes back what this rank has published in its entry, unless something else was published in it since.
    void withdraw(Entry& entry, std::uint32_t generation) noexcept;
    /// Takes back what this rank has published and not all have read, where `is_meant(group, sequence)`.
    template <class IsMeant>
    void withdraw(IsMeant is_meant) {
        for (const Claim& claim : claims_)
            if (claim.is_unread() && is_meant(*claim.group, claim.sequence)) withdraw(*claim.entry, claim.generation);
    }

    /// Says whether this rank sleeps and is to be woken when something is published for it, or room is made. Sequentially consistent: it
    /// looks once more after it has said so, and who publishes looks at this afterwards. One of them sees the other.
    void set_sleeping(bool sleeps) noexcept { flag(own_rank_).store(sleeps, std::memory_order_seq_cst); }
    /// Whether this rank is to wake the other, which sleeps. To be asked after a sequentially consistent fence. One asker is told so.
    bool is_to_wake(int world_rank) noexcept {
        std::atomic_ref<std::uint8_t> sleeps = flag(on_node(world_rank));
        return sleeps.load(std::memory_order_relaxed) && sleeps.exchange(0, std::memory_order_seq_cst);
    }

  private:
    int on_node(int world_rank) const noexcept { return rank_on_node_[static_cast<std::size_t>(world_rank)]; }
    std::atomic_ref<std::uint8_t> flag(int rank_on_node) const noexcept {
        return std::atomic_ref(*reinterpret_cast<std::uint8_t*>(shared_.memory + rank_on_node));
    }
    Shared shared_;
    int own_rank_;
    std::vector<int> rank_on_node_;
    Region own_;
    Pool pool_;
    std::vector<Claim> claims_;         ///< Some of them are free again.
    std::size_t claims_to_sweep_ = 64;  ///< When there are so many those are forgotten.
};

}  // namespace rollcall::runtime::node
