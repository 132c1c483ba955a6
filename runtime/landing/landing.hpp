/// \file
/// Landing memory: buffers within a fixed budget, where data waits that came before its receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "transports/transport.hpp"

namespace rollcall::runtime {

/// Buffers for early messages. The budget, in bytes, limits the sum of the sizes that are held at any time. Data that does not fit stays at
/// its sender. A budget of zero gives the *blocking* model of Patarasuk and Yuan (section 3.1), and a sufficient budget gives their
/// *non-blocking* model.
///
/// The transport provides the memory. Large buffers are kept for the next early messages, because the first access to fresh pages costs
/// more than the transfer. Each message counts as at least kLeastCharge bytes, so that the book-keeping of many tiny messages cannot cost
/// much more than the budget. Owner-only.
class Landing {
  public:
    /// `memory` must outlive this object. Messages longer than `longest` bytes do not land; 0: messages of any length may land.
    Landing(transport::Memory& memory, std::uint64_t budget, std::uint64_t longest = 0)
        : memory_(memory), budget_(budget), longest_(longest ? longest : std::numeric_limits<std::uint64_t>::max()) {}
    ~Landing();
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

    /// Returns a buffer of this size, or nothing if the budget does not allow it now. A phantom buffer counts in the budget but has no
    /// memory.
    std::optional<transport::Bytes> take(std::uint64_t size, bool phantom);
    void give_back(transport::Bytes buffer) noexcept;

    /// Counts memory in the budget that is used for another purpose. Returns false if the budget does not allow it.
    bool reserve(std::uint64_t bytes) noexcept;
    void unreserve(std::uint64_t bytes) noexcept { used_ -= bytes; }
    /// Another user of the budget, which keeps reserved memory that it does not use at present. There need not be one.
    class Spare {
      public:
        virtual std::uint64_t spare() const noexcept = 0;
        /// Gives back this many of the spare bytes, or all of them if there are fewer.
        virtual void drop_spare(std::uint64_t bytes) noexcept = 0;
        /// Ends the reservation of what other processes have stopped using.
        virtual void reclaim() noexcept = 0;

      protected:
        ~Spare() = default;
    };
    void share_budget_with(Spare* spare) noexcept { spare_ = spare; }
    /// Has the other user of the budget look for what is not used any more. used() may be too high before.
    void reclaim() noexcept {
        if (spare_) spare_->reclaim();
    }
    /// The number of bytes by which used and kept memory exceed the budget.
    std::uint64_t over_budget() const noexcept {
        const std::uint64_t all = used_ + kept_bytes_ + (spare_ ? spare_->spare() : 0);
        return all > budget_ ? all - budget_ : 0;
    }

    static constexpr std::uint64_t kLeastCharge = 256;

    /// Whether a message of this size could land if the budget were unused.
    bool could_hold(std::uint64_t size) const noexcept { return size <= longest_ && charge(size) <= budget_; }
    bool fits_now(std::uint64_t size) const noexcept { return charge(size) <= budget_ - used_; }
    std::uint64_t budget() const noexcept { return budget_; }
    /// How much of a budget may hold data that callers leave behind. The other half remains for early messages.
    static constexpr std::uint64_t most_kept(std::uint64_t budget) noexcept { return budget / 2; }
    std::uint64_t used() const noexcept { return used_; }
    std::uint64_t peak() const noexcept { return peak_; }
    /// The number of bytes kept for the next early messages. With the used bytes it stays within the budget, apart from the rounding of one
    /// buffer.
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
    std::vector<Kept> kept_;  ///< The one that has been unused longest comes first.
    Spare* spare_ = nullptr;
};

}  // namespace rollcall::runtime
