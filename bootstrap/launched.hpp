/// \file
/// The bootstrap of a rank of `rollcall run`, which talks to the launcher over a socket that it inherited. There is
/// no listening socket and no secret.
#pragma once

#include <optional>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/member.hpp"

namespace rollcall::bootstrap {

/// The rules for threads are those of Bootstrap. Any thread may call abort() at any time.
class Launched final : public Bootstrap {
  public:
    /// Takes over the inherited descriptor (close-on-exec from then on) and joins the job. `number` is the value of
    /// ROLLCALL_BOOTSTRAP_FD. Throws Error{bootstrap}, without blocking, when there is no launcher at the other end.
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
    void farewell(std::string_view how) noexcept override { member_->farewell(how); }
    void vanish() noexcept override { member_->vanish(); }
    void abort(int code, std::string_view why) noexcept override { member_->abort(code, why); }

  private:
    std::optional<Member> member_;  ///< Set by the constructor.
};

}  // namespace rollcall::bootstrap
