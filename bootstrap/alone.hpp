/// \file
/// The bootstrap of a program that no launcher started: a job of one process.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

class Alone final : public Bootstrap {
  public:
    Alone();

    std::string_view name() const override { return "alone"; }
    const Place& place() const override { return place_; }
    Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override;
    void barrier(const Meanwhile&, Timeout) override {}
    int notice_descriptor() const override { return -1; }
    std::optional<Notice> take_notice() override { return std::nullopt; }
    void leave() noexcept override {}
    void farewell(std::string_view) noexcept override {}
    void vanish() noexcept override {}
    /// No starter can end this job. So this only says why on standard error, and the caller exits by itself.
    void abort(int code, std::string_view why) noexcept override;

  private:
    Place place_;
};

}  // namespace rollcall::bootstrap
