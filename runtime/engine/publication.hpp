/// \file
/// The two classes with which an algorithm uses node memory (runtime/node/node_memory.hpp): a Publication publishes data, and a Reading
/// reads what another rank has published. They are used among ranks that are all on one node.
///
///     Publication out(op, kEverybody, data.size);                       Reading in(op, root, true, data.size);
///     while (!out.complete()) {                                         while (!in.complete()) {
///         co_await op.until([&] { return out.has_room(); });                co_await op.until([&] { return in.is_here(); });
///         co_await op.copy(out.room(), out.next_of(data));                  co_await op.copy(in.next_of(data), in.bytes());
///         out.publish();                                                    if (!in.let_go()) co_await op.failure();
///     }                                                                 }
///
/// A publisher is done when everything is published; its readers need not have come. In one operation a rank publishes at most once for
/// everybody (or for higher ranks), and at most once for each other rank. A publisher waits only for the readers of this publication, and
/// of publications in earlier operations of the same communicator. Operations publish in the order of their calls where they share an
/// entry: a reader that waits for an earlier one would not read a later one before. Where other publications occupy the room, by_message()
/// is true on both sides. The data then goes by messages, which the example leaves out (collectives/published/published.hpp does all this).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/operation.hpp"
#include "runtime/node/node_memory.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// The readers of a publication: all other ranks of the communicator. A value that is not negative means that one rank.
inline constexpr int kEverybody = -1;

/// The readers of a publication: all ranks above this one. They read it as one that is for all ranks.
inline constexpr int kHigherRanks = -2;

/// Data longer than this is published in pieces of this size.
inline constexpr std::uint64_t kPieceOfNode = node::kLargeBytes;
/// The same where elements are combined: whole elements only, because readers combine each piece by itself.
inline std::uint64_t piece_of_node(const Operation& operation) {
    return std::min(operation.arguments().combiner.whole_elements(kPieceOfNode), kPieceOfNode);
}

/// Whether all ranks of the operation's communicator are on one node and share memory. The answer is the same on all of them.
bool are_on_one_node(Operation& operation);

void find_places_in_node(Operation& operation);
/// For each rank of the operation's communicator, its entries (CommunicatorState::places).
inline const std::vector<node::Entry*>& places_in_node(Operation& operation) {
    const std::vector<node::Entry*>& places = operation.communicator().places;
    if (places.empty()) [[unlikely]]
        find_places_in_node(operation);
    return places;
}

/// The entry in which a rank publishes for `reader` (or kEverybody). `place`: its element of places_in_node().
inline node::Entry& entry_at(node::Entry* place, const Group& group, int reader, std::uint64_t sequence) noexcept {
    return place[reader >= 0 ? node::place_for_one(static_cast<std::uint64_t>(reader), sequence)
                             : node::place_for_all(static_cast<std::uint64_t>(group.size), sequence)];
}

/// After how many operations of the group a rank publishes for `reader` (or kEverybody, kHigherRanks) in the same entry again.
inline std::uint64_t period_of(const Group& group, int reader) noexcept {
    return reader >= 0 ? node::kEntriesForOne : node::period_for_all(static_cast<std::uint64_t>(group.size));
}

/// The common part of Publication, Reading and ShortExchange. It lives as long as the coroutine that made it.
class NodeUse {
  public:
    NodeUse(const NodeUse&) = delete;
    NodeUse& operator=(const NodeUse&) = delete;

    bool complete() const noexcept { return complete_; }
    std::uint64_t offset() const noexcept { return offset_; }

    /// Adds the world ranks that this operation waits for in node memory.
    static void add_awaited(const Operation& operation, std::vector<int>& peers);
    /// Whether the operation waits because some readers of this older publication of this rank have not come.
    static bool waits_for_readers_of(const node::NodeMemory::Claim& claim, const Operation& operation);

  protected:
    explicit NodeUse(Operation& operation, std::uint64_t size);
    virtual ~NodeUse();
    /// Whether `entry`, in which rank `publisher` publishes, has something that was published in this operation (`key`) by another call
    /// than this rank's. If so, all ranks are told.
    bool is_of_other_call(const node::Entry& entry, std::uint64_t key, int publisher) const {
        return entry.key.load(std::memory_order_acquire) == key && tells_of_other_call(entry, key, publisher);
    }
    bool tells_of_other_call(const node::Entry& entry, std::uint64_t key, int publisher) const;

    /// Data of another rank is here. The clock is read only for a call whose caller asks for the time.
    void note_data() const {
        if (operation_.is_recorded_ && operation_.first_data_ == 0 && size_ > 0) operation_.first_data_ = operation_.now();
    }

    Operation& operation_;
    std::uint64_t size_;        ///< Size of all the data, in bytes.
    std::uint64_t offset_ = 0;  ///< Bytes that are done.
    bool complete_ = false;

  private:
    NodeUse* next_ = nullptr;  ///< Link in the list of the operation's uses.
    NodeUse* previous_ = nullptr;

  protected:
    /// Whether this waits for rank `rank` of the communicator.
    virtual bool awaits(int rank) const noexcept = 0;
    /// Whether it waits because some readers of this older publication of this rank have not come.
    virtual bool is_kept_by(const node::NodeMemory::Claim&) const noexcept { return false; }
};

/// What the publisher does afterwards in the same operation.
enum class Publisher : std::uint8_t {
    leaves,  ///< It may be done when everything is published. Before that it checks whether its readers made another call.
    reads    ///< It reads what each of its readers publishes. Calls that do not match are found there.
};

/// Which data a publisher leaves where it stands, instead of copying it into node memory. The operation must then wait until its readers
/// have read it.
enum class InPlace : std::uint8_t {
    nothing,
    shared,    ///< Data in memory that its readers can map (Job::allocate()).
    anywhere,  ///< Also other long data, if its readers can read the memory of this process. They copy it by Reading::copy_private().
    offered    ///< Long data wherever its only reader can reach it, until the publisher replaces it by a copy (Publication::take_back()).
};

/// Data up to this size is always copied: that costs less than a look at whether its readers have read it.
inline constexpr std::uint64_t kLeastInPlace = node::kSmallBytes;
/// So is data up to this size that is not in shared memory: the system call that reads it looks up each page.
inline constexpr std::uint64_t kLeastPrivate = 32 << 10;
/// The same where each rank has a core of its own. There the publisher and the reader copy at the same time, piece by piece through the
/// caches. That is faster than the system call until the data no longer fits there. (Offers: Publication::pays_to_read().)
inline constexpr std::uint64_t kLeastPrivateWithCores = 1 << 20;
/// Data up to this size is not offered (InPlace::offered), but copied. Offers that nobody takes have to be copied, too.
inline constexpr std::uint64_t kLeastOffered = 64 << 10;
/// A reader copies private data in pieces of this size, in bytes, or less, so that it has whole elements. After each it looks whether the
/// publisher has taken the data back. It makes no progress in between.
inline constexpr std::uint64_t kPrivatePiece = 1 << 20;

class Publication final : public NodeUse {
  public:
    /// `to`: a rank of the communicator, kEverybody, or kHigherRanks (at least one such rank must exist). `size` may be 0.
    Publication(Operation& operation, int to, std::uint64_t size, Publisher publisher = Publisher::leaves);
    ~Publication() override;

    /// Call it first of all, if at all. If the data is in memory that its readers can reach, is_in_place() will be true: nothing is to be
    /// written, and publish() shows where the data is. The data must then stay as it is until is_read().
    void try_in_place(transport::ConstBytes data, InPlace which);
    bool is_in_place() const noexcept { return reference_.has_value(); }
    /// Whether all readers have read what was published in place. Always true for other data, of which there is a copy.
    bool is_read() const noexcept;
    /// Takes back data that is offered (InPlace::offered), unless its reader has begun to read it. Returns true if nothing is published
    /// now. The data is then to be published as a copy, and the operation need not wait until it is read.
    bool take_back();

    /// Whether the next piece can be written now, in which case its room is taken, or the data must go by message (by_message()).
    bool has_room();
    /// There is no room for any of the data: send it to the readers by messages, and then call publish(). (A reader that is told waits for
    /// its message and does nothing else meanwhile. If it were told before the message is on its way, two ranks could wait for each other.)
    bool by_message() const noexcept { return by_message_; }
    /// Where the next piece is to be written, unless it is published in place.
    transport::Bytes room() const noexcept { return {into_, piece_}; }
    /// The piece of `all` that is to be written there.
    transport::ConstBytes next_of(transport::ConstBytes all) const noexcept;
    /// The piece is written, or the messages have been sent: tells the readers.
    void publish();

  private:
    bool awaits(int rank) const noexcept override;
    bool is_kept_by(const node::NodeMemory::Claim& claim) const noexcept override;
    std::uint32_t readers() const noexcept;
    bool is_for(int rank) const noexcept;
    /// Looks for calls that do not match. Publishers leave without reading anything, so that the one which publishes last must find the
    /// mismatch: what a reader has published in this operation, for this rank or for all ranks, shows what that reader called.
    void look_for_other_calls() const;
    /// Whether to read the data where it stands takes less time than a copy, if the readers do not map it.
    bool pays_to_read(bool is_offer) const;
    /// Whether all readers can read the memory of this process.
    bool is_read_by_readers() const;
    bool take_block();
    void show(node::Link first);

    int to_;
    bool leaves_;
    node::Entry& entry_;
    node::Publisher publisher_;
    bool claimed_ = false;
    bool by_message_ = false;
    std::optional<node::Reference> reference_;  ///< Where data stands that is published in place.
    std::uint32_t generation_ = 0;              ///< Generation of the entry, once it is claimed.
    std::uint32_t block_ = node::kNoBlock;
    std::uint32_t last_block_ = node::kNoBlock;  ///< The block that was published before.
    std::byte* into_ = nullptr;                  ///< Null: no piece is taken.
    std::uint64_t piece_ = 0;
};

class Reading final : public NodeUse {
  public:
    /// Reads what rank `from` publishes for this rank, or for all ranks.
    Reading(Operation& operation, int from, bool for_everybody, std::uint64_t size);
    ~Reading() override = default;

    /// Whether the next piece can be read. The operation fails where the publisher called something else.
    bool is_here();
    bool can_go_on() { return !complete() && is_here(); }
    /// Valid once is_here(): the data comes by a message instead. The piece is empty; call let_go() for it.
    bool by_message() const noexcept { return block_ == node::kByMessage; }
    /// Valid once is_here(): the piece is in memory that only the publisher maps (InPlace::anywhere). Call copy_private(), not bytes().
    bool is_private() const noexcept { return block_ == node::kInPlace && reference_.is_private(); }
    /// Copies the piece to its place in `all`. If that is not possible, the operation fails, and let_go() returns false.
    void copy_private(transport::Bytes all);
    /// The piece. Valid until let_go().
    transport::ConstBytes bytes() const noexcept { return {from_, piece_}; }
    /// Where the piece belongs in `all`.
    transport::Bytes next_of(transport::Bytes all) const noexcept;
    int from() const noexcept { return publisher_; }
    /// The piece has been read. Returns false when the publisher took it back: the data is of no use, and the operation is about to fail.
    bool let_go();

  private:
    bool awaits(int rank) const noexcept override;
    bool find();
    /// Finds data that was published in place. Otherwise the operation fails.
    bool reach();
    void let_go_of_block();
    void let_go_of_entry();
    void let_go_of(std::atomic<node::State>& state, std::uint32_t generation, std::uint32_t readers);
    void fail(std::string_view what, std::string_view remedy, int reason);

    int publisher_;
    const node::Region& region_;
    node::Entry& entry_;
    std::uint32_t generation_ = 0;  ///< Generation of the entry.
    node::Link block_ = 0;          ///< The block that is being read, or was read last.
    node::Reference reference_{};   ///< The reference to data that was published in place.
    std::shared_ptr<const node::Mappings::Mapping> mapping_;
    const std::byte* from_ = nullptr;
    std::uint64_t piece_ = 0;
    bool found_ = false;
    bool here_ = false;
    bool withdrawn_ = false;
};

}  // namespace rollcall::runtime
