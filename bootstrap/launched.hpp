/// \file
/// A rank of `rollcall run`: talks to the launcher over a socket it inherited. There is no listening socket and no
/// secret.
#pragma once

#include <optional>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/member.hpp"

namespace rollcall::bootstrap {

/// Threads: as Bootstrap says; abort() may be called by any thread at any time.
class Launched final : public Bootstrap {
  public:
    /// Takes over the inherited descriptor (close-on-exec from here on) and joins the job. `number` is the value of
    /// ROLLCALL_BOOTSTRAP_FD. Throws Error{bootstrap}, without blocking, when there is no launcher behind it.
    explicit Launched(std::string_view number);

    std::string_view name() const override { return "rollcall run"; }
    const Place& place() const override { return member_->place(); }
    Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override {
        return member_->exchange(mine, meanwhile, timeout);
    }
    void barrier(const Meanwhile& meanwhile, Timeout timeout) override { member_->barrier(meanwhile, timeout); }
    int notice_descriptor() const override { return member_->notice_descriptor(); }
    std::optional<Notice> take_notice() override { return member_->take_notice(); }
    void leave() noexcept override { member_->leave(); }
    void abort(int code, std::string_view why) noexcept override { member_->abort(code, why); }

  private:
    std::optional<Member> member_;  ///< There from the construction on.
};

}  // namespace rollcall::bootstrap
