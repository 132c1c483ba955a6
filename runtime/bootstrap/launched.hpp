/// \file
/// A rank of `rollcall run`: talks to the launcher over a socket it inherited. There is no listening socket and no
/// secret.
#pragma once

#include <cstdint>
#include <mutex>

#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/bootstrap/descriptor.hpp"
#include "runtime/bootstrap/frames.hpp"

namespace rollcall::bootstrap {

/// Threads: as Bootstrap says; abort() may be called by any thread at any time.
class Launched final : public Bootstrap {
  public:
    /// Takes over the inherited descriptor (close-on-exec from here on) and joins the job. `number` is the value of
    /// ROLLCALL_BOOTSTRAP_FD. Throws Error{bootstrap}, without blocking, when there is no launcher behind it.
    explicit Launched(std::string_view number);

    std::string_view name() const override { return "rollcall run"; }
    const Place& place() const override { return place_; }
    std::vector<Blob> exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override;
    void barrier(const Meanwhile& meanwhile, Timeout timeout) override;
    int notice_descriptor() const override { return notice_events_.get(); }
    std::optional<Notice> take_notice() override;
    void leave() noexcept override;
    void abort(int code, std::string_view why) noexcept override;

  private:
    void post(Blob frame);
    bool flush();
    bool unsent();
    Frame answer(const char* operation, std::uint64_t sequence, const Meanwhile& meanwhile, Timeout timeout);

    Place place_;
    Descriptor control_;
    Inbox inbox_{kLongestAnswer};
    std::uint64_t sequence_ = 0;

    std::mutex sending_;  // abort() may come from any thread
    Outbox outbox_;

    std::mutex noticing_;
    Descriptor notices_;
    Descriptor notice_events_;  // epoll around notices_: it can be silenced when the launcher is gone, a socket cannot
    bool launcher_gone_ = false;
};

}  // namespace rollcall::bootstrap
