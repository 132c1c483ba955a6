/// \file
/// What a caller can wait for: an operation or a transfer.
#pragma once

#include <atomic>
#include <memory>

#include <rollcall/error.hpp>

namespace rollcall::runtime {

class Engine;

/// Who is told of an end, instead of waiting for it.
class Watcher {
  public:
    /// Called once, by the owner of the lane, last of all: what has ended, and this, may be gone when it returns.
    virtual void ended() noexcept = 0;

  protected:
    ~Watcher() = default;
};

/// Done once. The owner of the lane finishes it; any thread may ask done() (acquire: what the transfer wrote is visible
/// after it returned true). After that the engine does not touch the object again.
class Waitable {
  public:
    Waitable() = default;
    Waitable(const Waitable&) = delete;
    Waitable& operator=(const Waitable&) = delete;

    bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Valid after done(). Null when it went well.
    const Error* error() const noexcept { return error_.get(); }

    /// Starts it, as the owner of the lane.
    virtual void begin(Engine& engine) = 0;
    /// Ends it early, as the owner of the lane; it becomes done, with this error, once its buffers are free.
    virtual void abandon(Engine& engine, const Error& error) = 0;

  protected:
    virtual ~Waitable() = default;
    void set_error(const Error& error) {
        if (!error_) error_ = std::make_unique<Error>(error);
    }
    bool failed() const noexcept { return error_ != nullptr; }
    void set_done() noexcept { done_.store(true, std::memory_order_release); }

  private:
    std::unique_ptr<Error> error_;
    std::atomic<bool> done_{false};  // last: what is derived puts its small members into the padding after it
};

}  // namespace rollcall::runtime
