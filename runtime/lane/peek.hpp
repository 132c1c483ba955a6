/// \file
/// A look at the next message for which no receive is posted.
#pragma once

#include <cstdint>

#include "runtime/lane/message.hpp"
#include "runtime/lane/waitable.hpp"

namespace rollcall::runtime {

/// Becomes done when the next early point-to-point message of this key is here, or its data is offered. The message stays where it is. The
/// caller holds the peek and waits for it. Owner-only, except Waitable::done().
class Peek final : public Waitable {
  public:
    /// `peer` is a world rank.
    Peek(int peer, std::uint64_t communicator, std::uint64_t tag) : key{communicator, 0, tag, peer} {}

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;

    const MatchKey key;
    std::uint64_t size = 0;  ///< The size of the message. Valid when done.

  private:
    friend class Engine;
};

}  // namespace rollcall::runtime
