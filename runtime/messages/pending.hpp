/// \file
/// What the coroutine of an algorithm can wait for.
#pragma once

#include <utility>

#include "runtime/messages/transfer.hpp"

namespace rollcall::runtime {

/// A place where a coroutine is suspended. ready() is asked again whenever a transfer of the operation has ended or a rank has arrived.
class WaitPoint {
  public:
    virtual bool ready() = 0;

  protected:
    ~WaitPoint() = default;
};

/// A transfer that an algorithm has started. `co_await` waits for its end. Destroying the object lets the transfer run on.
class Pending {
  public:
    Pending() = default;
    explicit Pending(Transfer& transfer) : transfer_(&transfer) {}
    Pending(Pending&& other) noexcept : transfer_(std::exchange(other.transfer_, nullptr)) {}
    Pending& operator=(Pending&& other) noexcept {
        std::swap(transfer_, other.transfer_);
        return *this;
    }
    ~Pending() { drop(); }
    void drop();

    bool done() const noexcept { return !transfer_ || transfer_->stage == Transfer::Stage::done; }
    /// Whether a message sent ahead found no landing memory. It then waits here for its receiver, or for room.
    bool deferred() const noexcept { return transfer_ && transfer_->deferred; }

    class Awaiter;
    Awaiter operator co_await() const noexcept;

  private:
    Transfer* transfer_ = nullptr;
};

}  // namespace rollcall::runtime
