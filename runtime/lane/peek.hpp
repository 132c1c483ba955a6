/// \file
/// A look at the next message that nobody receives yet.
#pragma once

#include <cstdint>

#include "runtime/lane/message.hpp"
#include "runtime/lane/waitable.hpp"

namespace rollcall::runtime {

/// Done when the next early point-to-point message of this key is here, or its data is offered; it stays where it is. The caller holds
/// it and waits for it. Owner-only, but for Waitable::done().
class Peek final : public Waitable {
  public:
    /// `peer` is a world rank.
    Peek(int peer, std::uint64_t communicator, std::uint64_t tag) : key{communicator, 0, tag, peer} {}

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;

    const MatchKey key;
    std::uint64_t size = 0;  ///< Of the message, valid when done.

  private:
    friend class Engine;
};

}  // namespace rollcall::runtime
