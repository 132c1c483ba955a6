/// \file
/// Sends and receives whole messages through node memory (runtime/engine/publication.hpp), for algorithms that need no more than that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "collectives/blocks/parts.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/publication.hpp"
#include "runtime/engine/short_call.hpp"
#include "runtime/engine/short_exchange.hpp"

namespace rollcall::collectives {

using runtime::InPlace;
using runtime::kEverybody;
using runtime::kHigherRanks;
using runtime::Operation;
using runtime::Pending;
using runtime::Publication;
using runtime::Publisher;
using runtime::Reading;
using runtime::ShortExchange;
using runtime::ShortMove;
using runtime::Task;

/// The step of the messages that carry data for which there is no room. Operations that publish send nothing else.
inline constexpr std::uint64_t kPublishedStep = 0;

/// Up to this size, in bytes, each rank that combines reads the elements of all ranks whose elements it needs. That takes less time than
/// the synchronisation that a share for each rank would need. So few elements are one piece.
inline constexpr std::uint64_t kReadByAll = 4096;

/// Data that this rank publishes for another rank, or for all, while other transfers go on.
struct Outgoing {
    /// Unless `in_place` is InPlace::nothing, the operation must await all_read() before it ends.
    Outgoing(Operation& op, int its_reader, transport::ConstBytes its_data, Publisher publisher = Publisher::leaves,
             InPlace in_place = InPlace::nothing)
        : publication(op, its_reader, its_data.size, publisher), to(its_reader), data(its_data) {
        publication.try_in_place(data, in_place);
    }
    /// Whether it is published, or its messages have begun to leave.
    bool has_left() const { return publication.complete(); }
    bool can_go_on() { return !has_left() && publication.has_room(); }
    /// Whether the next piece, for which there is room, is copied there.
    bool is_copied() const { return !publication.by_message() && !publication.is_in_place(); }
    Publication publication;
    int to;
    transport::ConstBytes data;
};
/// Waits until the readers have read what was published in place.
template <class Outgoings>
auto all_read(Operation& op, const Outgoings& outgoing) {
    return op.until(
        [&] { return std::all_of(outgoing.begin(), outgoing.end(), [](const Outgoing& out) { return out.publication.is_read(); }); });
}
/// Publishes the next piece, for which there is room, or begins to send all of the data.
Task go_on(Operation& op, Outgoing& out, std::vector<Pending>& sends, std::uint64_t step = kPublishedStep);

/// Data that another rank publishes for this one, or for all, and the place where it goes.
struct Incoming {
    Incoming(Operation& op, int from, bool for_everybody, transport::Bytes its_place)
        : reading(op, from, for_everybody, its_place.size), place(its_place) {}
    bool can_go_on() { return reading.can_go_on(); }
    Reading reading;
    transport::Bytes place;
};

/// At most `capacity` objects, which never move in memory.
template <class Use>
class Uses {
  public:
    explicit Uses(int capacity)
        : capacity_(static_cast<std::size_t>(capacity)), uses_(capacity > 0 ? std::allocator<Use>().allocate(capacity_) : nullptr) {}
    ~Uses() {
        std::destroy(begin(), end());
        if (uses_) std::allocator<Use>().deallocate(uses_, capacity_);
    }
    Uses(const Uses&) = delete;
    Uses& operator=(const Uses&) = delete;

    template <class... Arguments>
    void add(Arguments&&... arguments) {
        std::construct_at(end(), std::forward<Arguments>(arguments)...);
        ++count_;
    }
    Use* begin() noexcept { return uses_; }
    Use* end() noexcept { return uses_ + count_; }
    const Use* begin() const noexcept { return uses_; }
    const Use* end() const noexcept { return uses_ + count_; }
    int size() const noexcept { return static_cast<int>(count_); }

  private:
    std::size_t capacity_, count_ = 0;
    Use* uses_;
};

/// The first of these that `may` go on now and can do so, or null.
template <class Use, class May>
Use* find_ready(Uses<Use>& uses, const May& may) {
    Use* const found = std::find_if(uses.begin(), uses.end(), [&](Use& use) { return may(use) && use.can_go_on(); });
    return found == uses.end() ? nullptr : found;
}
/// The first of these that can go on, or null.
template <class Use>
Use* find_ready(Uses<Use>& uses) {
    return find_ready(uses, [](const Use&) { return true; });
}

/// Publishes what is left of it, or begins to send it, as room becomes free. Await `sends` afterwards.
Task publish_rest(Operation& op, Outgoing& out, std::vector<Pending>& sends);

/// Publishes all of `data` for rank `to`, kEverybody or kHigherRanks, as room becomes free.
Task publish_all(Operation& op, int to, transport::ConstBytes data, Publisher publisher = Publisher::leaves);
/// The same for one of several readers. Messages have only begun to leave: await `sends` after the last reader, so that one that is late
/// does not delay the others. `data` must stay as it is until then.
Task publish_for_one(Operation& op, int to, transport::ConstBytes data, std::vector<Pending>& sends);

/// Messages that carry what a rank has published, with the data that they carry.
struct PublishedMessages {
    std::optional<Scratch> data;
    std::vector<Pending> sends;
};
/// The same, if the rank then reads what the same ranks publish for it. Messages have only begun to leave. The rank awaits `sends` when it
/// has read everything: if each rank waited for its own messages before, no rank would begin to receive. `data` may be overwritten earlier.
Task publish_first(Operation& op, int to, transport::ConstBytes data, Publisher publisher, PublishedMessages& messages);

/// As publish_all(), as the last thing that a rank does. If its caller stays until the data has left (CollectiveOptions::until_delivered),
/// this waits for the readers, and data in memory that they can reach is not copied.
Task publish_last(Operation& op, int to, transport::ConstBytes data);

/// Copies the pieces that are here.
Task copy_what_is_here(Operation& op, Reading& reading, transport::Bytes into, std::uint64_t step = kPublishedStep);

/// Combines `left` with the pieces that are here, where they stand, into `into`, which may be `left`. Both have the size of the whole data.
Task combine_what_is_here(Operation& op, Reading& reading, transport::Bytes into, transport::ConstBytes left);

/// Combines what each rank publishes, for this rank or for all ranks, with this rank's own contribution, one after the other in rank order,
/// into `data`.
Task combine_in_rank_order(Operation& op, bool for_everybody);

/// Each rank publishes its contribution for all others, and combines those of all ranks, in rank order, into its `data`. For contributions
/// that suit a ShortExchange.
Task exchange_and_combine(Operation& op);

/// Where what another rank has for this one goes.
using PlaceFor = transport::Bytes (*)(const Operation& op, int rank);

// In a scatter: what the root has for another rank, and where this rank's block goes.
inline transport::ConstBytes scattered_to(const Operation& op, int rank) { return block_of(op, rank); }
inline transport::Bytes place_of_result(const Operation& op, int) { return op.arguments().result; }

/// How an operation moves short blocks.
struct ShortMoves {
    ShortExchange::Flow flow;
    bool for_everybody;          ///< As in ShortExchange.
    bool copies_own;             ///< The root, or each rank if there is none, also copies a block from itself.
    BlockFor block;              ///< What a rank publishes for another one.
    PlaceFor place = &block_of;  ///< Where a rank copies what another one has published.
};
/// Moves blocks of `size` bytes, which suits a ShortExchange: a rank publishes from the arrival of its caller on, and copies what others
/// publish, in whatever order it comes. Other ranks may move their blocks by Publications and Readings.
Task exchange_short(Operation& op, const ShortMoves& moves, std::uint64_t size);

/// Publishes what `block` gives for the other ranks, once for all of them or separately for each rank, from the arrival of the caller on.
/// Copies what the other ranks publish into their blocks of `data`. Whatever can go on does: a late rank delays only its own block. If each
/// block has one reader, and the reader can reach the memory of the block, this rank makes no copy for it. This rank then waits until the
/// reader has copied the block, which takes no longer than making the copy here. (With many readers a late rank would have to copy all
/// blocks before the others could end.)
Task publish_and_copy(Operation& op, bool for_everybody, BlockFor block);

/// Copies everything that rank `from` publishes.
Task copy_all(Operation& op, int from, bool for_everybody, transport::Bytes into);

/// Publishes `own` for all other ranks, and copies what each of them publishes for all to `others`, in rank order without this rank. All
/// publish data of one size. If `others` has no bytes, this rank reads the data and does not keep it. It reads while it publishes: if each
/// rank first published everything, all could wait for each other, because a rank is sure of room for only a part of long data.
Task publish_and_read(Operation& op, transport::ConstBytes own, transport::Bytes others);

/// A part of some data, from byte `begin` on, and where it is to go.
struct Wanted {
    std::uint64_t begin;
    transport::Bytes into;
};
/// Those parts of which some bytes are in `here`. Parts, here and below, are in the order of their bytes, and do not overlap.
std::span<const Wanted> wanted_in(Range here, std::span<const Wanted> wanted);
/// Copies what is wanted of `piece`, which begins at byte `offset` of the data.
Task copy_wanted(Operation& op, transport::ConstBytes piece, std::uint64_t offset, std::span<const Wanted> wanted);
/// Copies what is wanted of the `size` bytes that rank `from` publishes, from where they stand.
Task copy_all_wanted(Operation& op, int from, bool for_everybody, std::uint64_t size, std::span<const Wanted> wanted);

/// What is wanted of the `size` bytes that rank `from` publishes for this rank.
struct WantedFrom {
    int from;
    std::uint64_t size;
    std::vector<Wanted> wanted;
};
/// Copies what these ranks publish for this rank, in the order in which it comes: a late rank keeps back its own data only.
Task copy_as_they_come(Operation& op, std::span<const WantedFrom> all);

}  // namespace rollcall::collectives
