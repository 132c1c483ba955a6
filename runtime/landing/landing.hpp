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
/// model (Patarasuk and Yuan, section 3.1). The memory is the transport's. Large buffers are kept for the next early message, because the
/// first touch of fresh pages costs more than the transfer. A message counts at least kLeastCharge, so that many tiny ones cannot cost much
/// more than the budget in book-keeping. Owner-only.
class Landing {
  public:
    /// `memory` must outlive this. `longest`: longer messages do not land; 0: of any length.
    Landing(transport::Memory& memory, std::uint64_t budget, std::uint64_t longest = 0)
        : memory_(memory), budget_(budget), longest_(longest ? longest : std::numeric_limits<std::uint64_t>::max()) {}
    ~Landing();
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

    /// A buffer of this size, or nothing when the budget does not allow it now. A phantom is counted and has no memory.
    std::optional<transport::Bytes> take(std::uint64_t size, bool phantom);
    void give_back(transport::Bytes buffer) noexcept;

    /// Memory that counts in the budget and is used for something else.
    bool reserve(std::uint64_t bytes) noexcept;
    void unreserve(std::uint64_t bytes) noexcept { used_ -= bytes; }
    /// Whoever reserves and keeps memory that it does not use at present. Null: nobody.
    class Spare {
      public:
        virtual std::uint64_t spare() const noexcept = 0;
        /// Gives this much of it back, or all.
        virtual void drop_spare(std::uint64_t bytes) noexcept = 0;

      protected:
        ~Spare() = default;
    };
    void share_budget_with(Spare* spare) noexcept { spare_ = spare; }
    /// By how much what is used and what is kept are above the budget.
    std::uint64_t over_budget() const noexcept {
        const std::uint64_t all = used_ + kept_bytes_ + (spare_ ? spare_->spare() : 0);
        return all > budget_ ? all - budget_ : 0;
    }

    static constexpr std::uint64_t kLeastCharge = 256;

    /// Whether a message of this size could ever land.
    bool could_hold(std::uint64_t size) const noexcept { return size <= longest_ && charge(size) <= budget_; }
    bool fits_now(std::uint64_t size) const noexcept { return charge(size) <= budget_ - used_; }
    std::uint64_t budget() const noexcept { return budget_; }
    std::uint64_t used() const noexcept { return used_; }
    std::uint64_t peak() const noexcept { return peak_; }
    /// What is kept for the next early messages. With what is used it stays within the budget (but for one buffer's rounding).
    std::uint64_t kept() const noexcept { return kept_bytes_; }

  private:
    struct Kept {
        void* data;
        std::uint64_t capacity;
    };
    void drop(std::vector<Kept>::iterator kept) noexcept;
    static std::uint64_t charge(std::uint64_t size) noexcept { return size < kLeastCharge ? kLeastCharge : size; }
    static std::uint64_t capacity_for(std::uint64_t size) noexcept;

    transport::Memory& memory_;
    std::uint64_t budget_;
    std::uint64_t longest_;
    std::uint64_t used_ = 0;
    std::uint64_t peak_ = 0;
    std::uint64_t kept_bytes_ = 0;
    std::vector<Kept> kept_;  ///< The longest unused first.
    Spare* spare_ = nullptr;
};

}  // namespace rollcall::runtime
