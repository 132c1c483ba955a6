/// \file
/// What an algorithm says of node memory (runtime/node/node_memory.hpp): publish, and read what another rank has published. For
/// communicators whose ranks are all on one node (Condition::node_memory).
///
///     Publication out(op, kEverybody, data.size);                       Reading in(op, root, kEverybody, data.size);
///     while (!out.complete()) {                                         while (!in.complete()) {
///         co_await op.until([&] { return out.has_room(); });                co_await op.until([&] { return in.is_here(); });
///         co_await op.copy(out.room(), out.next_of(data));                  co_await op.copy(in.next_of(data), in.bytes());
///         out.publish();                                                    if (!in.let_go()) co_await op.failure();
///     }                                                                 }
///
/// A publisher is done when all is published; its readers need not have come. In one operation a rank publishes at most once for
/// everybody (or for higher ranks), and at most once for each other rank. It waits for the readers of this publication, and of earlier
/// operations of the same communicator. It does not wait for anybody else: where others hold the room, by_message() is true on both sides,
/// and the data goes by messages (collectives/published.hpp does all this).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/node/node_memory.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class Operation;

/// The readers of a publication: all other ranks of the communicator. Else one rank.
inline constexpr int kEverybody = -1;

/// The readers of a publication: the ranks after this one. They read it as one for everybody.
inline constexpr int kHigherRanks = -2;

/// What is longer than this is published in pieces of it.
inline constexpr std::uint64_t kPieceOfNode = node::kLargeBytes;

/// Something of an operation that uses node memory. Lives as long as the coroutine that made it.
class NodeUse {
  public:
    NodeUse(const NodeUse&) = delete;
    NodeUse& operator=(const NodeUse&) = delete;

    bool complete() const noexcept { return complete_; }
    std::uint64_t offset() const noexcept { return offset_; }

  protected:
    explicit NodeUse(Operation& operation, std::uint64_t size);
    virtual ~NodeUse();

    Operation& operation_;
    std::uint64_t size_;        ///< Of all of it.
    std::uint64_t offset_ = 0;  ///< What went before.
    bool complete_ = false;

  private:
    friend class Engine;
    NodeUse* next_ = nullptr;  ///< Of the same operation.
    NodeUse* previous_ = nullptr;

  protected:
    /// For the engine: whether it waits, and for which ranks (of the communicator).
    virtual bool awaits(int rank) const noexcept = 0;
    /// Whether it waits because not all readers of this older publication of this rank have come.
    virtual bool is_kept_by(const node::NodeMemory::Claim&) const noexcept { return false; }
};

/// What the publisher does in the same operation.
enum class Publisher : std::uint8_t {
    leaves,  ///< It may be done when all is published. Whether its readers have made another call is looked at before.
    reads    ///< It reads what each of its readers publishes: calls that do not match come out there.
};

class Publication final : public NodeUse {
  public:
    /// For rank `to` of the communicator, kEverybody, or kHigherRanks (of which there is one at least). `size` may be 0.
    Publication(Operation& operation, int to, std::uint64_t size, Publisher publisher = Publisher::leaves);
    ~Publication() override;

    /// Whether the next piece can be written now, which is taken then, or there is none (by_message()).
    bool has_room();
    /// There is no room for any of it, and nothing is to be published: the data is to be sent to its readers.
    bool by_message() const noexcept { return by_message_; }
    /// Where it is to be written.
    transport::Bytes room() const noexcept { return {into_, piece_}; }
    /// The piece of `all` that goes there.
    transport::ConstBytes next_of(transport::ConstBytes all) const noexcept;
    /// It is written: shows it to its readers.
    void publish();

  private:
    bool awaits(int rank) const noexcept override;
    bool is_kept_by(const node::NodeMemory::Claim& claim) const noexcept override;
    std::uint32_t readers() const noexcept;
    bool is_for(int rank) const noexcept;
    /// Publishers of calls that do not match leave without reading anything. The one who publishes last is told here: what one of its
    /// readers has published in this operation, for it or for all, shows what that one called.
    void look_for_other_calls() const;
    bool take_block();
    void show(node::Link first);

    int to_;
    bool leaves_;
    node::Entry& entry_;
    node::Publisher publisher_;
    bool claimed_ = false;
    bool by_message_ = false;
    std::uint32_t generation_ = 0;  ///< Of the entry, once it is claimed.
    std::uint32_t block_ = node::kNoBlock;
    std::uint32_t last_block_ = node::kNoBlock;  ///< The one published before.
    std::byte* into_ = nullptr;                  ///< Null: no piece is taken.
    std::uint64_t piece_ = 0;
};

class Reading final : public NodeUse {
  public:
    /// What rank `from` publishes for this rank, or for everybody.
    Reading(Operation& operation, int from, bool for_everybody, std::uint64_t size);
    ~Reading() override = default;

    /// Whether the next piece can be read. Where the publisher called something else the operation fails.
    bool is_here();
    /// Once something is here: the data comes by a message. The piece is empty, and to be let go of.
    bool by_message() const noexcept { return block_ == node::kByMessage; }
    /// The piece, until let_go().
    transport::ConstBytes bytes() const noexcept { return {from_, piece_}; }
    /// Where it belongs in `all`.
    transport::Bytes next_of(transport::Bytes all) const noexcept;
    int from() const noexcept { return publisher_; }
    /// It has been read. False: the publisher had taken it back, so that it is of no use, and the operation is about to fail.
    bool let_go();

  private:
    bool awaits(int rank) const noexcept override;
    bool find();
    void let_go_of_block();
    void let_go_of(std::atomic<node::State>& state, std::uint32_t generation);

    int publisher_;
    node::Region region_;
    node::Entry& entry_;
    std::uint32_t generation_ = 0;  ///< Of the entry.
    node::Link block_ = 0;          ///< That is being read, or was last.
    const std::byte* from_ = nullptr;
    std::uint64_t piece_ = 0;
    bool found_ = false;
    bool here_ = false;
    bool withdrawn_ = false;
};

}  // namespace rollcall::runtime
