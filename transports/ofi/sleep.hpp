/// \file
/// What the owner of the lane sleeps on.
#pragma once

namespace rollcall::transport::ofi {

/// A descriptor that is readable when one of those it watches is, or when it is time to look again.
class Sleep {
  public:
    /// Throws Error{transport}.
    Sleep();
    ~Sleep();
    Sleep(const Sleep&) = delete;
    Sleep& operator=(const Sleep&) = delete;

    void watch(int descriptor);
    int descriptor() const { return all_; }
    /// Whether it is readable after kPollInterval at the latest. Sets the time anew.
    void set_poll(bool polls) noexcept;

    /// One millisecond, as long as the kernel may take to wake a thread: for what no descriptor tells of.
    static constexpr long kPollInterval = 1'000'000;

  private:
    int all_ = -1, timer_ = -1;
    bool set_ = false;
};

}  // namespace rollcall::transport::ofi
