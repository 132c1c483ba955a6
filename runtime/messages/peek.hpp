/// \file
/// A look at the next message for which no receive is posted, and a receive of the message that was seen.
#pragma once

#include <cstdint>

#include "runtime/messages/message.hpp"
#include "runtime/messages/transfer.hpp"
#include "runtime/messages/waitable.hpp"

namespace rollcall::runtime {

/// Becomes done when the next early point-to-point message of this key is here, or its data is offered. The message stays where it is. The
/// caller or a request holds the peek. Owner-only, except Waitable::done().
class Peek final : public Waitable {
  public:
    explicit Peek(const MatchKey& its_key) : key(its_key) {}

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;
    /// Sets the watcher that is told when it ends. Call it as the owner of the lane, before the peek is done.
    void watch(Watcher& watcher) noexcept { watcher_ = &watcher; }

    const MatchKey key;
    std::uint64_t size = 0;      ///< The size of the message. Valid when done.
    std::uint32_t ordinal = 0;   ///< Its position in the stream of its sender. Valid when done.
    Peek* match_next = nullptr;  ///< The link of MatchTable.

  private:
    friend class Engine;
    Watcher* watcher_ = nullptr;  ///< Null: there is none.
};

/// Receives the message that a Peek has seen, and no other one. Another thread may have received it meanwhile, and its sender may take it
/// back, also while it is transferred. Then this ends without an error, and missed() is true. Its caller holds it and waits for it, as for
/// any Transfer.
class SeenReceive final : public Transfer {
  public:
    /// `buffer` has room for the message.
    SeenReceive(const Peek& seen, transport::Bytes its_buffer)
        : Transfer(Direction::receive, seen.key.source, seen.key.communicator, seen.key.tag, its_buffer), ordinal_(seen.ordinal) {
        flags = kOnlySeen;
    }
    void begin(Engine& its_engine) override { begin_if_next(its_engine, ordinal_); }
    bool missed() const noexcept { return flags & kMissed; }  ///< Valid when done.

  private:
    std::uint32_t ordinal_;
};

}  // namespace rollcall::runtime
