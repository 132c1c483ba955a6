/// \file
/// An exchange of short data through node memory: each rank publishes for all others, or separately for each of them, and reads what each
/// of them publishes. It does what a Publication for each reader and a Reading for each publisher would do (publication.hpp), and ranks
/// that use those may take part. But it is one object with a word for each other rank, and one look at which ranks sleep follows all that
/// is published at a time. So a rank that exchanges a few bytes with seven others executes far fewer instructions.
///
///     ShortExchange exchange(op, true, data.size);
///     exchange.begin();
///     while (!exchange.complete()) {
///         co_await op.until([&] { return exchange.can_go_on(); });
///         while (exchange.next_room()) {
///             co_await op.copy(exchange.room(), data);
///             exchange.publish();
///         }
///         while (exchange.next_here()) {
///             co_await op.copy(block_of(exchange.other()), exchange.bytes());
///             if (!exchange.let_go()) co_await op.failure();
///         }
///     }
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "runtime/lane/publication.hpp"
#include "runtime/node/layout.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class ShortExchange final : public NodeUse {
  public:
    /// So much is stored in the entry itself, so that a publisher needs no block.
    static constexpr std::uint64_t kLongest = node::Entry::kInline;
    /// A bit of a word stands for each rank.
    static constexpr int kMostRanks = 64;
    static constexpr bool suits(int ranks, std::uint64_t size) noexcept { return ranks > 1 && ranks <= kMostRanks && size <= kLongest; }

    /// For an operation of which each rank publishes `size` bytes for all other ranks (`for_everybody`), or for each of them.
    ShortExchange(Operation& operation, bool for_everybody, std::uint64_t size);
    ~ShortExchange() override;

    /// This rank's data is there: it may be published.
    void begin() noexcept { unpublished_ = for_everybody_ ? 1 : others_; }
    /// Whether everything has been published and read.
    bool complete() const noexcept { return (unpublished_ | unread_) == 0; }
    /// Whether everything has been published, once begin() has been called.
    bool has_published() const noexcept { return unpublished_ == 0; }
    /// Whether next_room() or next_here() would return true.
    bool can_go_on() const noexcept { return find_free() != 0 || find_shown() != 0; }

    /// Takes room for data that can be published now. Returns false if there is none.
    bool next_room();
    transport::Bytes room() const noexcept { return {claimed_->data, size_}; }
    /// The data is written: shows it to its readers. Those that sleep are woken by tell(), or when next_room() returns false.
    void publish();

    /// Finds data that can be read now. Returns false if there is none. The operation fails where its publisher called something else.
    bool next_here();
    /// The same for the data of this rank.
    bool is_here(int rank) { return find(place_of(rank)); }
    transport::ConstBytes bytes() const noexcept { return {reads_->data, size_}; }
    /// The data has been read. Returns false when its publisher took it back: it is of no use, and the operation is about to fail. The
    /// publisher, if it sleeps, is woken by tell(), when next_here() returns false, or at the end.
    bool let_go();
    /// Wakes the ranks that wait for what has been done. Call it before waiting.
    void tell();

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
    node::Entry& entry_for(int place) const noexcept;
    /// The bit of a publication whose entry is free, or 0. (The rank above this one comes first.)
    std::uint64_t find_free() const noexcept;
    /// The bit of the first place whose data seems to be here, or 0.
    std::uint64_t find_shown() const noexcept;
    bool find(int place);

    bool for_everybody_;
    int ranks_, own_;  ///< The size of the operation, and this rank.
    std::uint64_t others_;
    std::uint64_t unread_;
    std::uint64_t unpublished_ = 0;  ///< For all ranks: bit 0.
    std::uint64_t to_tell_ = 0;      ///< These places are to be told of a change.
    std::uint64_t key_;
    std::uint64_t now_ = 0;           ///< The bit of what is being published or read.
    node::Entry* claimed_ = nullptr;  ///< The entry that is being written, and its generation.
    node::Entry* reads_ = nullptr;    ///< The entry that is being read, and its generation.
    std::uint32_t claimed_generation_ = 0, read_generation_ = 0;
    int other_ = 0;
    std::array<node::Entry*, kMostRanks> entries_;  ///< For each place, the entry where its rank publishes.
};

}  // namespace rollcall::runtime
