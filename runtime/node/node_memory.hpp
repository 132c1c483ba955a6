/// \file
/// One rank's view of the memory that the ranks of its node share.
///
/// A rank that has data publishes it once, in its own region, and goes on. A rank that needs the data copies it out, or reads it in place,
/// when it comes. No message is handled, and a reader waits only for the publisher.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/group/group.hpp"
#include "runtime/node/buffers.hpp"
#include "runtime/node/layout.hpp"
#include "runtime/node/mail.hpp"
#include "runtime/node/pool.hpp"

namespace rollcall::runtime::node {

/// The memory of a node: for each of its ranks a byte that says whether it sleeps, a byte that says whether it can read the memory of the
/// other processes, mailboxes, and a region.
struct Shared {
    std::byte* memory = nullptr;
    Geometry geometry;
    int ranks = 0;

    /// Where the second kind of bytes begins.
    std::size_t readers_at() const noexcept { return Geometry::round_up(static_cast<std::size_t>(ranks), 64); }
    std::size_t mailboxes_at() const noexcept { return 2 * readers_at(); }
    std::size_t head_bytes() const noexcept {
        return Geometry::round_up(mailboxes_at() + static_cast<std::size_t>(ranks) * sizeof(Mailboxes), Geometry::kPage);
    }
    Mailboxes& mailboxes(int rank) const noexcept {
        return *reinterpret_cast<Mailboxes*>(memory + mailboxes_at() + static_cast<std::size_t>(rank) * sizeof(Mailboxes));
    }
    std::size_t bytes() const noexcept { return head_bytes() + static_cast<std::size_t>(ranks) * geometry.bytes(); }
    Region region(int rank) const noexcept { return {memory + head_bytes() + static_cast<std::size_t>(rank) * geometry.bytes(), geometry}; }
};

/// Owner-only. Other processes read and clear the byte that set_sleeping() writes.
class NodeMemory {
  public:
    /// `rank_on_node` is indexed by world rank; -1: the rank is on another node. The memory must outlive this object. The geometry is the
    /// same on all ranks.
    NodeMemory(const Shared& shared, int own_rank_on_node, std::vector<int> rank_on_node, Landing& landing);

    /// Whether the reader of long data is to copy it straight from its publisher, although two copies could be made at the same time: more
    /// ranks than cores share this node, or the user asks for it (ROLLCALL_SINGLE_COPY=always).
    bool prefers_single_copy() const noexcept { return prefers_single_copy_; }
    void set_prefers_single_copy(bool prefers) noexcept { prefers_single_copy_ = prefers; }

    /// Whether all ranks of a group are on this node. The answer is the same on all of them.
    bool holds(const Group& group) const;

    /// Whether this rank of the job is on this node.
    bool has(int world_rank) const noexcept { return on_node(world_rank) >= 0; }

    Pool& pool() noexcept { return pool_; }
    /// The memory that this rank's program has taken.
    Buffers& buffers() noexcept { return buffers_; }
    /// The memory that the programs of other ranks have taken.
    Mappings& mappings() noexcept { return mappings_; }
    /// The short messages that come to this rank.
    Inbox& inbox() noexcept { return inbox_; }
    /// A mailbox of another rank of the node for this rank's short messages; null: there is none. It lives as long as this object.
    Outbox* open_outbox(int world_rank);
    const Region& own() const noexcept { return own_; }
    const Region& region_of(int world_rank) const noexcept { return regions_[static_cast<std::size_t>(on_node(world_rank))]; }

    /// Claims an entry for `readers` readers and returns its generation. The caller fills the entry between claim() and show(). The object
    /// remembers the publisher's group, so that the entry can be taken back when a reader dies.
    [[gnu::always_inline]] std::uint32_t claim(Entry& entry, const std::shared_ptr<const Group>& group, std::uint64_t sequence,
                                               std::uint32_t readers) {
        const auto number = static_cast<std::size_t>(&entry - own_.entries_of(0));
        if (number >= claims_.size()) [[unlikely]]
            claims_.resize(number + 1);
        // The last readers have let go. A rank that still looks at the entry sees no key, or a key other than the one it looks for.
        entry.key.store(0, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        const std::uint32_t generation = generation_of(entry.state.load(std::memory_order_relaxed)) + 1;
        entry.state.store(state_of(generation, readers), std::memory_order_relaxed);
        entry.sequence = sequence;
        Claim& claim = claims_[number];
        claim.entry = &entry;
        // Each assignment counts the users of two groups, by atomic operations.
        if (claim.group != group) [[unlikely]]
            claim.group = group;
        claim.sequence = sequence;
        claim.generation = generation;
        return generation;
    }
    static void show(Entry& entry, const Group& group) noexcept {
        entry.key.store(key_of(group.id, entry.sequence), std::memory_order_release);
    }
    /// Whether all readers of the last publication in this entry have let go.
    static bool is_free(const Entry& entry) noexcept { return readers_of(entry.state.load(std::memory_order_acquire)) == 0; }
    /// One publication of this rank: its entry, communicator and operation.
    struct Claim {
        Entry* entry = nullptr;  ///< Null: none was published here yet.
        std::shared_ptr<const Group> group;
        std::uint64_t sequence = 0;
        std::uint32_t generation = 0;  ///< The generation of the entry. It changes when something else is published there.

        bool is_unread() const noexcept {
            if (!entry) return false;
            const State state = entry->state.load(std::memory_order_acquire);
            return readers_of(state) > 0 && generation_of(state) == generation;
        }
    };
    /// Whether what this rank has published in this entry of its own has readers left.
    bool is_unread(const Entry& entry) const noexcept {
        const auto number = static_cast<std::size_t>(&entry - own_.entries_of(0));
        return number < claims_.size() && claims_[number].is_unread();
    }
    /// Whether something that this rank has published in the entries of these slots has readers left.
    bool has_unread(std::uint64_t first_slot, std::uint64_t slots) const noexcept {
        const std::uint64_t end = std::min<std::uint64_t>(claims_.size(), (first_slot + slots) * kEntriesOfSlot);
        for (std::uint64_t entry = first_slot * kEntriesOfSlot; entry < end; ++entry)
            if (claims_[entry].is_unread()) return true;
        return false;
    }
    /// The last publication in each entry of this rank's region, up to the highest entry that was used.
    const std::vector<Claim>& claims() const noexcept { return claims_; }
    /// Takes back what this rank has published in the entry, unless something else has been published in it since.
    void withdraw(Entry& entry, std::uint32_t generation) noexcept;
    /// Takes back an offer, unless its reader has taken it (take()). Returns true if the entry is free again.
    static bool take_back(Entry& entry, std::uint32_t generation) noexcept {
        State unread = state_of(generation, 1);
        // No rank can take the offer while it has no readers. The generation is that of no publication.
        if (!entry.state.compare_exchange_strong(unread, state_of(generation + 1, 0), std::memory_order_acq_rel, std::memory_order_relaxed))
            return false;
        entry.key.store(0, std::memory_order_relaxed);
        return true;
    }
    /// Takes back every publication of this rank that has readers left and for which `is_meant(group, sequence)` is true.
    template <class IsMeant>
    void withdraw(IsMeant is_meant) {
        for (const Claim& claim : claims_)
            if (claim.is_unread() && is_meant(*claim.group, claim.sequence)) withdraw(*claim.entry, claim.generation);
    }

    /// Says that this rank can read the memory of the processes of all ranks of the node (transports/process_memory.hpp).
    void set_reads_processes() noexcept { reads_processes(own_rank_).store(1, std::memory_order_relaxed); }
    /// Whether the other rank has said so.
    bool is_read_by(int world_rank) const noexcept { return reads_processes(on_node(world_rank)).load(std::memory_order_relaxed); }

    /// Sets whether this rank sleeps and must be woken when something is published for it or room becomes free. The store is sequentially
    /// consistent. The rank looks for work once more after the store, and a publisher reads this byte after it has published. So at least
    /// one of them sees what the other wrote.
    void set_sleeping(bool sleeps) noexcept { flag(own_rank_).store(sleeps, std::memory_order_seq_cst); }
    /// Whether this rank must wake the other one, which sleeps. Call it after a sequentially consistent fence. Of several ranks that ask,
    /// one gets true.
    bool is_to_wake(int world_rank) noexcept {
        std::atomic_ref<std::uint8_t> sleeps = flag(on_node(world_rank));
        return sleeps.load(std::memory_order_relaxed) && sleeps.exchange(0, std::memory_order_seq_cst);
    }
    /// The caller could not wake it. (If it is awake by now, it is woken once in vain.)
    void still_sleeps(int world_rank) noexcept { flag(on_node(world_rank)).store(1, std::memory_order_seq_cst); }
    /// Whether any rank of the node sleeps. If not, no rank is to be woken. Call it after a sequentially consistent fence.
    bool any_sleeps() const noexcept {
        using Word = std::uint64_t;  // The bytes of eight ranks. The last word goes on behind the last rank, where all is zero.
        for (std::byte* at = shared_.memory; at < shared_.memory + shared_.ranks; at += sizeof(Word))
            if (std::atomic_ref(*reinterpret_cast<Word*>(at)).load(std::memory_order_relaxed) != 0) return true;
        return false;
    }

  private:
    int on_node(int world_rank) const noexcept { return rank_on_node_[static_cast<std::size_t>(world_rank)]; }
    std::atomic_ref<std::uint8_t> flag(int rank_on_node) const noexcept {
        return std::atomic_ref(*reinterpret_cast<std::uint8_t*>(shared_.memory + rank_on_node));
    }
    std::atomic_ref<std::uint8_t> reads_processes(int rank_on_node) const noexcept {
        return std::atomic_ref(*reinterpret_cast<std::uint8_t*>(shared_.memory + shared_.readers_at() + rank_on_node));
    }
    Shared shared_;
    int own_rank_;
    bool prefers_single_copy_ = false;
    std::vector<int> rank_on_node_;
    std::vector<Region> regions_;
    Region own_;
    Pool pool_;
    Buffers buffers_;
    Mappings mappings_;
    Inbox inbox_;
    std::deque<Outbox> outboxes_;
    std::vector<Claim> claims_;
};

}  // namespace rollcall::runtime::node
