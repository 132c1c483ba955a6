/// \file
/// The layout of the memory that the ranks of a node share. Each rank has a region of it, and only that rank publishes there. A region
/// holds entries, in which other ranks find what has been published, with a place for short data each, and blocks, which hold longer data.
///
/// All words that several processes use are lock-free atomics. A publisher writes data before it stores (release) the word that announces
/// the data. A reader loads that word (acquire) before it reads the data.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/group/call.hpp"

namespace rollcall::runtime::node {

/// A generation (upper half), and the number of readers that have yet to let go (lower half). A publisher that takes something back begins
/// a new generation. A reader of the old generation notices that when it lets go.
using State = std::uint64_t;
constexpr State state_of(std::uint32_t generation, std::uint32_t readers) noexcept { return State{generation} << 32 | readers; }
constexpr std::uint32_t generation_of(State state) noexcept { return static_cast<std::uint32_t>(state >> 32); }
constexpr std::uint32_t readers_of(State state) noexcept { return static_cast<std::uint32_t>(state); }

/// A block and its generation in one word. 0: none yet.
using Link = std::uint64_t;
/// Follows the last block.
inline constexpr Link kEnd = ~std::uint64_t{0};
/// Stands in place of the first block: there was no room for the data, and a message brings it.
inline constexpr Link kByMessage = kEnd - 1;
/// Stands in place of the first block: the data stands in a buffer of the publisher (buffers.hpp), and the entry holds a Reference to it.
inline constexpr Link kInPlace = kEnd - 2;
constexpr bool is_block(Link link) noexcept { return link != 0 && link < kInPlace; }
constexpr Link link_to(std::uint32_t block, std::uint32_t generation) noexcept { return Link{generation} << 32 | (block + 1); }
constexpr std::uint32_t block_of(Link link) noexcept { return static_cast<std::uint32_t>(link) - 1; }

/// The only reader of an offer (Reference::is_offer) takes it before it reads. From then on it counts as this number of readers, and the
/// publisher can no longer replace the offer by a copy.
inline constexpr std::uint32_t kTaken = 2;
/// Takes an offer of this generation. Returns false when the publisher has taken it back, or does so at this moment.
inline bool take(std::atomic<State>& state, std::uint32_t generation) noexcept {
    State unread = state_of(generation, 1);
    return state.compare_exchange_strong(unread, state_of(generation, kTaken), std::memory_order_acq_rel, std::memory_order_relaxed);
}

/// One reader, or one that counts as `readers`, lets go of something of this generation. Returns how many readers have yet to let go.
/// Returns nothing when the publisher has taken it back: what was read is then of no use.
inline std::optional<std::uint32_t> let_go(std::atomic<State>& state, std::uint32_t generation, std::uint32_t readers = 1) noexcept {
    State now = state.load(std::memory_order_relaxed);
    // Acquire and release: the next owner must write after the last reader has read.
    do {
        if (generation_of(now) != generation) return std::nullopt;
    } while (!state.compare_exchange_weak(now, now - readers, std::memory_order_acq_rel, std::memory_order_relaxed));
    return readers_of(now) - readers;
}

/// The place where the readers of one publication find it.
struct alignas(64) Entry {
    /// Identifies the publication: key_of(). Stored last. 0: nothing is published.
    std::atomic<std::uint64_t> key;
    std::uint64_t sequence;
    Call call;
    std::uint64_t size;  ///< The size of the whole publication, in bytes.
    /// kEnd: the data is in the place of this entry (Region::place_of). kInPlace: a Reference is in `data`. kByMessage: it comes by a
    /// message.
    Link first;

    alignas(64) std::atomic<State> state;
    static constexpr std::size_t kInline = 48;
    alignas(16) std::byte data[kInline];  ///< Functions of the program combine elements where they stand.
};
static_assert(sizeof(Entry) == 128);

/// Fills an entry whose data, of `size` bytes, is in its place, and shows it to its readers. The publisher has claimed it
/// (NodeMemory::claim()) and has written the data.
inline void show(Entry& entry, const Call& call, std::uint64_t size, std::uint64_t key) noexcept {
    entry.call = call;
    entry.size = size;
    entry.first = kEnd;
    entry.key.store(key, std::memory_order_release);
}

/// What an entry says of a publication.
struct Shown {
    Call call;
    std::uint64_t size;
    std::uint32_t generation;
};
/// Reads an entry after its key was seen (acquire). Returns nothing if its publisher has taken it back meanwhile, and may use it again:
/// what was read before counts only if the key is the same after it.
inline std::optional<Shown> look_at(const Entry& entry, std::uint64_t key) noexcept {
    const Shown shown{entry.call, entry.size, generation_of(entry.state.load(std::memory_order_acquire))};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entry.key.load(std::memory_order_relaxed) != key) return std::nullopt;
    return shown;
}

/// The head of a block. Its words are in two cache lines: readers look for the next block in one line while other readers let go in the
/// other.
struct alignas(64) BlockHead {
    std::atomic<Link> next;
    std::uint64_t size;  ///< Number of data bytes in the block.

    alignas(64) std::atomic<State> state;
};
static_assert(sizeof(BlockHead) == 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A value that tells a publication from all others that may use the same entry.
constexpr std::uint64_t key_of(std::uint64_t communicator, std::uint64_t sequence) noexcept {
    std::uint64_t h = communicator * 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull + sequence;
    h = (h ^ (h >> 32)) * 0x94d049bb133111ebull;
    return (h ^ (h >> 29)) | 1;
}

/// Each slot of a communicator (as on the arrivals board) has this many entries for one reader, and this many for all readers.
inline constexpr std::uint64_t kEntriesForOne = 8;
inline constexpr std::uint64_t kEntriesForAll = 4;
inline constexpr std::uint64_t kEntriesOfSlot = kEntriesForOne + kEntriesForAll;
/// A publisher is at most this many operations ahead of its slowest reader. It is less than CommunicatorState::kHistory, so that a reader
/// which made another call can still say so.
inline constexpr std::uint64_t kMostAhead = 32;

/// After so many operations of a communicator with `slots` slots a rank publishes in the same entry for all readers again. (For one reader:
/// kEntriesForOne.)
constexpr std::uint64_t period_for_all(std::uint64_t slots) noexcept {
    return slots * kEntriesForAll < kMostAhead ? slots * kEntriesForAll : kMostAhead;
}

/// The entry for the reader that has this slot, counted from that of slot 0 on. Successive operations use different entries.
constexpr std::uint64_t place_for_one(std::uint64_t slot, std::uint64_t sequence) noexcept {
    return slot * kEntriesOfSlot + sequence % kEntriesForOne;
}
/// The entry for all readers of a communicator with `slots` slots, counted from that of its first slot on.
constexpr std::uint64_t place_for_all(std::uint64_t slots, std::uint64_t sequence) noexcept {
    const std::uint64_t period = period_for_all(slots);
    // Mostly the period is a power of two. A division takes tens of cycles.
    const std::uint64_t turn = (period & (period - 1)) == 0 ? sequence & (period - 1) : sequence % period;
    return turn / kEntriesForAll * kEntriesOfSlot + kEntriesForOne + turn % kEntriesForAll;
}

/// Data up to this size, in bytes, stands in a place of the entry's own. So nothing must be allocated for it. These places take 12 KiB of
/// each slot, of which only what is used has pages.
inline constexpr std::uint32_t kPlaceBytes = 1024;
inline constexpr std::uint32_t kSmallBytes = 4096;
inline constexpr std::uint32_t kLargeBytes = 64 * 1024;

/// The sizes and places of the parts of a rank's region.
struct Geometry {
    std::uint64_t slots = 0;
    std::uint32_t small_blocks = 0;
    std::uint32_t large_blocks = 0;

    static constexpr std::size_t kPage = 2 * 1024 * 1024;  ///< Large blocks begin on a huge page.
    std::uint32_t blocks() const noexcept { return small_blocks + large_blocks; }
    std::size_t heads_at() const noexcept { return slots * kEntriesOfSlot * sizeof(Entry); }
    std::size_t places_at() const noexcept { return round_up(heads_at() + blocks() * sizeof(BlockHead), kPlaceBytes); }
    std::size_t small_at() const noexcept { return round_up(places_at() + slots * kEntriesOfSlot * kPlaceBytes, kSmallBytes); }
    std::size_t large_at() const noexcept { return round_up(small_at() + std::size_t{small_blocks} * kSmallBytes, kPage); }
    std::size_t bytes() const noexcept { return round_up(large_at() + std::size_t{large_blocks} * kLargeBytes, kPage); }
    static constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }
};

/// A rank's region.
class Region {
  public:
    Region() = default;
    Region(std::byte* memory, const Geometry& geometry) : memory_(memory), places_(memory + geometry.places_at()), geometry_(geometry) {}

    /// The first entry of this slot.
    Entry* entries_of(std::uint64_t slot) const noexcept { return reinterpret_cast<Entry*>(memory_) + slot * kEntriesOfSlot; }
    /// Where data of this size stands that is published in the entry. `size` is at most kPlaceBytes. (Up to Entry::kInline bytes are in the
    /// entry's own cache lines.)
    std::byte* place_of(Entry& entry, std::uint64_t size) const noexcept {
        return size <= Entry::kInline ? entry.data : places_ + static_cast<std::size_t>(&entry - entries_of(0)) * kPlaceBytes;
    }
    BlockHead& head(std::uint32_t block) const noexcept {
        return *reinterpret_cast<BlockHead*>(memory_ + geometry_.heads_at() + block * sizeof(BlockHead));
    }
    std::byte* data(std::uint32_t block) const noexcept {
        if (block < geometry_.small_blocks) return memory_ + geometry_.small_at() + std::size_t{block} * kSmallBytes;
        return memory_ + geometry_.large_at() + std::size_t{block - geometry_.small_blocks} * kLargeBytes;
    }
    const Geometry& geometry() const noexcept { return geometry_; }

  private:
    std::byte* memory_ = nullptr;
    std::byte* places_ = nullptr;
    Geometry geometry_;
};

}  // namespace rollcall::runtime::node
