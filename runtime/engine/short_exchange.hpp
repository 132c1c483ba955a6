/// \file
/// An exchange of short data through node memory: each rank publishes for all others, or separately for each of them, and reads what each
/// of them publishes; or one rank publishes for the others, or reads what they publish. It does what a Publication for each reader and a
/// Reading for each publisher would do (publication.hpp), and ranks that use those may take part. But it is one object with a word for
/// each other rank, and one look at which ranks sleep follows all that is published at a time. So a rank that moves a few bytes executes
/// far fewer instructions.
///
///     ShortExchange exchange(op, Flow::among_all, true, data.size);
///     exchange.begin();
///     for (;;) {
///         while (exchange.next_room()) {
///             co_await exchange.write(data);
///             exchange.publish();
///         }
///         while (exchange.next_here()) {
///             co_await exchange.read(block_of(exchange.other()));
///             if (!exchange.let_go()) co_await op.failure();
///         }
///         if (exchange.complete()) break;
///         co_await op.until([&] { return exchange.can_go_on(); });
///     }
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "foundation/copy.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/publication.hpp"
#include "runtime/node/layout.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class ShortExchange final : public NodeUse {
  public:
    /// An entry has a place for so much, so that a publisher needs no block.
    static constexpr std::uint64_t kLongest = node::kPlaceBytes;
    /// A bit of a word stands for each rank.
    static constexpr int kMostRanks = 64;
    static constexpr bool suits(int ranks, std::uint64_t size) noexcept { return ranks > 1 && ranks <= kMostRanks && size <= kLongest; }

    /// Who publishes, and who reads it.
    enum class Flow : std::uint8_t {
        among_all,  ///< Each rank publishes for all others.
        from_root,  ///< The root publishes for all others.
        to_root     ///< All others publish for the root.
    };
    /// For an operation in which a rank that publishes does so with `size` bytes, once for all of its readers (`for_everybody`), or for
    /// each of them.
    ShortExchange(Operation& operation, Flow flow, bool for_everybody, std::uint64_t size);
    ~ShortExchange() override;

    /// Whether this rank has anything to publish.
    bool publishes() const noexcept { return readers_ != 0; }
    /// This rank's data is there: it may be published.
    void begin() noexcept {
        if (!is_shown_) unpublished_ = for_everybody_ && readers_ ? 1 : readers_;
    }
    /// Whether everything has been published and read.
    bool complete() const noexcept { return (unpublished_ | unread_) == 0; }
    /// Whether everything has been published, once begin() has been called.
    bool has_published() const noexcept { return unpublished_ == 0; }
    /// Whether next_room() or next_here() would return true.
    bool can_go_on() const noexcept { return (unpublished_ != 0 && find_free() != 0) || find_shown() != 0; }

    /// Takes room for data that can be published now. Returns false if there is none.
    bool next_room() {
        if (unpublished_ != 0 && take_room()) return true;
        if (to_tell_ != 0) tell();
        return false;
    }
    /// Writes the data there.
    Pending write(transport::ConstBytes data) { return copy({memory_.own().place_of(*claimed_, size_), size_}, data); }
    /// The data is written: shows it to its readers. Those that sleep are woken by tell(), or when next_room() returns false.
    void publish();

    /// Finds data that can be read now. Returns false if there is none. The operation fails where its publisher called something else.
    bool next_here() {
        for (std::uint64_t left = unread_; left != 0; left &= left - 1)
            if (find(std::countr_zero(left))) return true;
        if (to_tell_ != 0) tell();
        return false;
    }
    /// The same for the data of this rank.
    bool is_here(int rank) { return find(place_of(rank)); }
    transport::ConstBytes bytes() const noexcept {
        if (size_ <= node::Entry::kInline) return {reads_->data, size_};
        const int publisher = operation_.communicator().group->world_rank(operation_.member(other_));
        return {memory_.region_of(publisher).place_of(*reads_, size_), size_};
    }
    Pending read(transport::Bytes into) { return copy(into, bytes()); }
    /// The data has been read. Returns false when its publisher took it back: it is of no use, and the operation is about to fail. The
    /// publisher, if it sleeps, is woken by tell(), when next_here() returns false, or at the end.
    bool let_go() {
        const auto readers = node::let_go(reads_->state, read_generation_);
        if (!readers) return false;
        unread_ &= ~now_;
        // The publisher waits for the last reader, so only the last one tells it.
        if (*readers == 0) to_tell_ |= now_;
        if (tells_at_once_) tell();
        return true;
    }
    /// What is left to do, for go_on_from() of another object that takes the place of this one.
    struct Left {
        std::uint64_t unpublished, unread;
    };
    Left left() const noexcept { return {unpublished_, unread_}; }
    void go_on_from(const Left& left) noexcept {
        unpublished_ = left.unpublished;
        unread_ = left.unread;
    }
    /// Wakes the ranks that wait for what has been done. Call it before waiting.
    void tell();

    /// Whether write(), read() and copy() have copied when they return, so that nothing must be awaited.
    bool copies_at_once() const noexcept { return !copies_in_model_time_; }
    /// As Operation::copy(), for data of the size that is exchanged.
    Pending copy(transport::Bytes into, transport::ConstBytes from) {
        if (copies_in_model_time_) [[unlikely]]
            return operation_.copy(into, from);
        copy_short(into.data, from.data, size_);
        return {};
    }

    /// The rank for which the room is (not where it is for all), or which has published what is here.
    int other() const noexcept { return other_; }

  private:
    bool awaits(int rank) const noexcept override;
    bool is_kept_by(const node::NodeMemory::Claim& claim) const noexcept override;

    static constexpr std::uint64_t bit(int place) noexcept { return std::uint64_t{1} << place; }
    /// Other ranks have places from 1 on: first those below this rank, from the highest to the lowest, and then those above it.
    int rank_at(int place) const noexcept { return place <= own_ ? own_ - place : own_ + ranks_ - place; }
    int place_of(int rank) const noexcept { return rank < own_ ? own_ - rank : own_ + ranks_ - rank; }
    /// The entry in which this rank publishes for the rank at this place, or for all ranks.
    node::Entry& entry_for(int place) const noexcept {
        if (for_everybody_) return own_entries_[entry_];
        return own_entries_[node::place_for_one(static_cast<std::uint64_t>(operation_.member(rank_at(place))), sequence_)];
    }
    /// The bit of a publication whose entry is free, or 0. (The rank above this one comes first.)
    std::uint64_t find_free() const noexcept;
    std::uint64_t find_room() const noexcept;
    bool take_room();
    /// The bit of the first place whose data seems to be here, or 0.
    std::uint64_t find_shown() const noexcept {
        for (std::uint64_t left = unread_; left != 0; left &= left - 1)
            if (entries_[static_cast<std::size_t>(std::countr_zero(left))]->key.load(std::memory_order_acquire) == key_)
                return left & -left;
        return 0;
    }
    bool find(int place) {
        node::Entry& entry = *entries_[static_cast<std::size_t>(place)];
        return entry.key.load(std::memory_order_acquire) == key_ && open(entry, place);
    }
    /// Begins to read the entry. Returns false if it must not be read.
    bool open(node::Entry& entry, int place);
    bool tells_of_difference(int publisher, const Call& call, std::uint64_t size) const;
    void look_for_other_calls() const;

    const bool for_everybody_;
    const bool tells_at_once_;         ///< See Transport::tells_of_puts().
    const bool copies_in_model_time_;  ///< See Machine::has_model_time().
    const bool is_shown_;              ///< Everything was published before the operation began (end_at_once()).
    bool leaves_;                      ///< This rank reads nothing, and looks in the end whether its readers made another call.
    const int ranks_, own_;            ///< The size of the operation, and this rank.
    int other_ = 0;
    std::uint32_t claimed_generation_ = 0, read_generation_ = 0;
    node::NodeMemory& memory_;
    const std::uint64_t sequence_, key_;
    std::uint64_t entry_;                           ///< Which of a publisher's entries is the one for this rank, or for everybody.
    node::Entry* own_entries_;                      ///< This rank's element of places_in_node().
    std::uint64_t readers_;                         ///< The places for which this rank publishes.
    std::uint64_t unread_;                          ///< The places from which it has yet to read.
    std::uint64_t unpublished_ = 0;                 ///< For all ranks: bit 0.
    std::uint64_t to_tell_ = 0;                     ///< These places are to be told of a change.
    std::uint64_t now_ = 0;                         ///< The bit of what is being published or read.
    node::Entry* claimed_ = nullptr;                ///< The entry that is being written, with its generation.
    node::Entry* reads_ = nullptr;                  ///< The entry that is being read, with its generation.
    std::array<node::Entry*, kMostRanks> entries_;  ///< For each place from which this rank reads, the entry where its rank publishes.
};

}  // namespace rollcall::runtime
