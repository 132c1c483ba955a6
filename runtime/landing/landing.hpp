/// \file
/// Where data waits that came before its receiver: landing buffers within a fixed budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "transports/transport.hpp"

namespace rollcall::runtime {

/// Buffers for early messages. The budget bounds the sum of the sizes that are held at any time; what does not fit
/// stays at its sender. A budget of zero therefore gives the papers' blocking model, a sufficient one their non-blocking
/// model (Patarasuk and Yuan, section 3.1). Large buffers are mapped once, with huge pages where there are any, and kept
/// for the next early message, because the first touch of fresh pages costs more than the transfer. A message counts at
/// least kLeastCharge, so that many tiny ones cannot cost much more than the budget in book-keeping. Owner-only.
class Landing {
  public:
    /// `longest`: longer messages do not land; 0: of any length.
    explicit Landing(std::uint64_t budget, std::uint64_t longest = 0)
        : budget_(budget), longest_(longest ? longest : std::numeric_limits<std::uint64_t>::max()) {}
    ~Landing();
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

    /// A buffer of this size, or nothing when the budget does not allow it now. A phantom is counted and has no memory.
    std::optional<transport::Bytes> take(std::uint64_t size, bool phantom);
    void give_back(transport::Bytes buffer) noexcept;

    static constexpr std::uint64_t kLeastCharge = 256;

    /// Whether a message of this size could ever land.
    bool could_hold(std::uint64_t size) const noexcept { return size <= longest_ && charge(size) <= budget_; }
    bool fits_now(std::uint64_t size) const noexcept { return charge(size) <= budget_ - used_; }
    std::uint64_t budget() const noexcept { return budget_; }
    std::uint64_t used() const noexcept { return used_; }
    std::uint64_t peak() const noexcept { return peak_; }

  private:
    struct Kept {
        void* data;
        std::uint64_t capacity;
    };
    static std::uint64_t charge(std::uint64_t size) noexcept { return size < kLeastCharge ? kLeastCharge : size; }
    static std::uint64_t capacity_for(std::uint64_t size) noexcept;

    std::uint64_t budget_;
    std::uint64_t longest_;
    std::uint64_t used_ = 0;
    std::uint64_t peak_ = 0;
    std::uint64_t kept_bytes_ = 0;
    std::vector<Kept> kept_;
};

}  // namespace rollcall::runtime
