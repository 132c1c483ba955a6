/// \file
/// One send or one receive, from its start until its buffer is free again.
#pragma once

#include <cstdint>

#include "runtime/lane/match_table.hpp"
#include "runtime/lane/waitable.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class Engine;
class Operation;
struct EarlyMessage;

/// Belongs either to an operation (then it lives in the lane's arena) or to a caller that sends or receives itself (then
/// the caller holds it and waits for it). Owner-only, but for Waitable::done().
class Transfer : public transport::Completion, public Waitable {
  public:
    enum class Direction : std::uint8_t { send, receive };
    enum class Stage : std::uint8_t {
        idle,
        queued,   ///< A send that waits here (Backlog).
        posted,   ///< A receive that waits for its message.
        claimed,  ///< A receive whose message is being landed; it will be copied from there.
        moving,   ///< The transport works on it.
        lost,     ///< The transport could not do it; why is not known yet (Peers::Trouble).
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

    // Two cache lines, and no more: there are many. (What is small stands in the padding of Waitable.)
    Direction direction = Direction::send;
    Stage stage = Stage::idle;
    bool large = false;          ///< A send that the receiver must fetch.
    bool tell_deferred = false;  ///< A send whose sender asks to be told when it cannot land.
    bool deferred = false;       ///< And has been told so.
    union {
        bool released = false;  ///< Of an operation: its coroutine no longer refers to it.
        bool watched;           ///< Point to point: it is a WatchedTransfer.
    };
    bool withdrawn = false;   ///< Given up, but the network itself still reads or writes its buffer.
    MatchKey key;             ///< key.source: the world rank of the other end.
    transport::Bytes buffer;  ///< Sends only read it.
    union {
        std::uint64_t received = 0;  ///< Receives: the bytes that came, valid when done.
        std::uint32_t ordinal;       ///< Point-to-point sends: position in the stream to the peer.
    };
    Engine* engine = nullptr;
    Operation* operation = nullptr;  ///< Null: point to point.
    union {
        Transfer* match_next = nullptr;  ///< Posted receives, queued sends: MatchTable. Null when it has left the table.
        EarlyMessage* early;             ///< Claimed receives: where the message lands.
    };
    Transfer* next = nullptr;  ///< List of the operation's unfinished transfers, or of the backlog.
    Transfer* previous = nullptr;

    int peer() const noexcept { return key.source; }

  private:
    friend class Engine;
};

/// A point-to-point one of a request.
class WatchedTransfer final : public Transfer {
  public:
    using Transfer::Transfer;
    /// Who is told of its end. As the owner of the lane, before it is done.
    void watch(Watcher& who) noexcept {
        watcher_ = &who;
        watched = true;
    }
    Watcher& watcher() const noexcept { return *watcher_; }

  private:
    Watcher* watcher_;  // set where it is watched
};

static_assert(sizeof(void*) != 8 || sizeof(Transfer) == 128);

}  // namespace rollcall::runtime
