/// \file
/// One send or one receive, from its start until its buffer is free again.
#pragma once

#include <cstdint>

#include "runtime/messages/match_table.hpp"
#include "runtime/messages/message.hpp"
#include "runtime/messages/waitable.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class Engine;
class Operation;
struct EarlyMessage;

/// A send or a receive. It belongs either to an operation, and then lives in the lane's arena, or to a caller that sends or receives
/// itself, and then the caller holds it and waits for it. Owner-only, except Waitable::done().
class Transfer : public transport::Completion, public Waitable {
  public:
    enum class Direction : std::uint8_t { send, receive };
    enum class Stage : std::uint8_t {
        idle,
        queued,   ///< A send that waits here (Backlog).
        posted,   ///< A receive that waits for its message.
        claimed,  ///< A receive whose message is being landed. The data will be copied from there.
        moving,   ///< The transport works on it.
        lost,     ///< The transport could not do it. The reason is not known yet (Peers::Trouble).
        done
    };

    Transfer() = default;
    /// A point-to-point send or receive. `peer` is a world rank.
    Transfer(Direction which, int peer_rank, std::uint64_t communicator, std::uint64_t tag, transport::Bytes its_buffer)
        : direction(which), buffer(its_buffer) {
        key.source = peer_rank;
        key.communicator = communicator;
        key.tag = tag;
    }
    virtual ~Transfer() = default;

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;
    void complete(transport::Outcome outcome) noexcept override;

    // The object takes exactly two cache lines, because there are many. (Small members fill the padding of Waitable.)
    Direction direction = Direction::send;
    Stage stage = Stage::idle;
    bool large = false;  ///< A send that the receiver must fetch.
    /// What the header of a send that the receiver must fetch says: kTellDeferred, kAwaited. For a receive: see SeenReceive.
    std::uint8_t flags = 0;
    static constexpr std::uint8_t kOnlySeen = 1, kMissed = 2;
    union {
        bool deferred = false;  ///< For a send: the message cannot land.
        bool listed;            ///< For a receive: its operation has it in ListedReceives.
    };
    union {
        bool released = false;  ///< For an operation: its coroutine no longer refers to it.
        bool watched;           ///< For point to point: it is a WatchedTransfer.
    };
    bool withdrawn = false;   ///< It was given up, but the network itself still reads or writes its buffer.
    MatchKey key;             ///< key.source is the world rank of the other end.
    transport::Bytes buffer;  ///< Sends only read it.
    union {
        std::uint64_t received = 0;  ///< Receives: the number of bytes that came. Valid when done.
        std::uint32_t ordinal;       ///< Point-to-point sends: position in the stream to the peer.
    };
    Engine* engine = nullptr;
    Operation* operation = nullptr;  ///< Null: point to point.
    union {
        Transfer* match_next = nullptr;  ///< Posted receives and queued sends: the link of MatchTable. Null when it has left the table.
        EarlyMessage* early;             ///< Claimed receives: where the message lands.
    };
    union {
        Transfer* next = nullptr;  ///< Link in the list of the operation's unfinished transfers, or in the backlog.
        std::uint32_t number;      ///< Point-to-point receives: which one of those from its peer, in the order of the calls.
    };
    Transfer* previous = nullptr;

    int peer() const noexcept { return key.source; }

  protected:
    /// Begins a receive if the next message of its key is this one of its sender's stream. Otherwise the receive has missed it, and ends.
    void begin_if_next(Engine& its_engine, std::uint32_t its_ordinal);

  private:
    friend class Engine;
    void miss();  ///< Ends a SeenReceive without its message.
};

/// A point-to-point transfer that belongs to a request.
class WatchedTransfer final : public Transfer {
  public:
    using Transfer::Transfer;
    /// Sets the watcher that is told when it ends. Call it as the owner of the lane, before the transfer is done.
    void watch(Watcher& watcher) noexcept {
        watcher_ = &watcher;
        watched = true;
    }
    Watcher& watcher() const noexcept { return *watcher_; }

  private:
    Watcher* watcher_;  // set by watch()
};

static_assert(sizeof(void*) != 8 || sizeof(Transfer) == 128);

}  // namespace rollcall::runtime
