/// \file
/// What a caller can wait for, such as an operation or a transfer.
#pragma once

#include <atomic>
#include <memory>

#include <rollcall/error.hpp>

namespace rollcall::runtime {

class Engine;

/// Is told when something ends, for things that no thread waits for.
class Watcher {
  public:
    /// The owner of the lane calls it once, last of all. When it returns, both this object and what has ended may be gone.
    virtual void ended() noexcept = 0;

  protected:
    ~Watcher() = default;
};

/// Becomes done exactly once. The owner of the lane finishes it; any thread may call done(). done() loads with acquire order: once it has
/// returned true, everything the transfer wrote is visible. From then on the engine does not touch the object again.
class Waitable {
  public:
    Waitable() = default;
    Waitable(const Waitable&) = delete;
    Waitable& operator=(const Waitable&) = delete;

    bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Valid after done(). Null when it succeeded.
    const Error* error() const noexcept { return error_.get(); }

    /// Starts it. Called by the owner of the lane.
    virtual void begin(Engine& engine) = 0;
    /// Ends it early. Called by the owner of the lane. It becomes done, with this error, once its buffers are free.
    virtual void abandon(Engine& engine, const Error& error) = 0;

  protected:
    virtual ~Waitable() = default;
    void set_error(const Error& error) {
        // A text of its own, because another thread may destroy it. (Copies of an exception share the text, and the thread sanitizer does
        // not see the counter of its users, which is in libstdc++.)
        if (!error_) error_ = std::make_unique<Error>(error.code(), error.what(), error.failed_rank());
    }
    bool failed() const noexcept { return error_ != nullptr; }
    void set_done() noexcept { done_.store(true, std::memory_order_release); }

  private:
    std::unique_ptr<Error> error_;
    std::atomic<bool> done_{false};  // last, so that derived classes place their small members in the padding after it
};

}  // namespace rollcall::runtime
