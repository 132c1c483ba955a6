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
class Transfer final : public Waitable, public transport::Completion {
  public:
    enum class Direction : std::uint8_t { send, receive };
    enum class Stage : std::uint8_t {
        idle,
        posted,   ///< A receive that waits for its message.
        claimed,  ///< A receive whose message is being landed; it will be copied from there.
        moving,   ///< The transport works on it.
        lost,     ///< The transport could not do it; why is not known yet.
        done
    };

    Transfer() = default;
    /// A point-to-point send or receive. `peer` is a world rank.
    Transfer(Direction which, int peer_rank, std::uint64_t communicator, std::uint64_t tag, transport::Bytes its_buffer)
        : buffer(its_buffer), peer(peer_rank), direction(which) {
        key.communicator = communicator;
        key.tag = tag;
    }
    ~Transfer() = default;

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;
    void complete(transport::Outcome outcome) noexcept override;

    MatchKey key;                    ///< key.source: the sender's world rank.
    Transfer* match_next = nullptr;  ///< MatchTable
    transport::Bytes buffer;         ///< Sends only read it.
    std::uint64_t received = 0;      ///< Bytes that came, valid when a receive is done.
    Engine* engine = nullptr;
    Operation* operation = nullptr;  ///< Null: point to point.
    EarlyMessage* early = nullptr;   ///< A claimed receive: where its message lands.
    Transfer* next = nullptr;        ///< List of the operation's unfinished transfers.
    Transfer* previous = nullptr;
    Nanoseconds abandoned_at = 0;  ///< When its buffer was asked back, or 0.
    std::uint32_t ordinal = 0;     ///< Point-to-point sends: position in the stream to the peer.
    int peer = -1;
    Direction direction = Direction::send;
    Stage stage = Stage::idle;
    bool large = false;          ///< A send that the receiver must fetch.
    bool tell_deferred = false;  ///< A send whose sender asks to be told when it cannot land.
    bool deferred = false;       ///< And has been told so.
    bool released = false;       ///< Its operation's coroutine no longer refers to it.

  private:
    friend class Engine;
};

}  // namespace rollcall::runtime
