/// \file
/// Which slots of this rank's board, and with them which entries of its node memory, belong to which communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/group/group.hpp"

namespace rollcall::runtime {

class Slots;

/// Allocates ranges of slots to communicators. Any thread may call it. It must live longer than all Slots.
class SlotAllocator {
  public:
    /// Whether something that was published in these entries has not been read by all of its readers.
    using IsUnread = std::function<bool(std::uint64_t first, std::uint64_t count)>;

    explicit SlotAllocator(std::uint64_t slots) : slots_(slots) {}
    /// Takes `count` consecutive free slots; if there are none, the result is empty. Slots that a communicator has left are free when
    /// nothing in them is unread: the next communicator would wait for those readers. If no others are left, they are free, too.
    Slots take(std::uint64_t count, const IsUnread& is_unread);

  private:
    friend class Slots;
    struct Range {
        std::uint64_t first, count;
        bool is_left;
    };
    std::uint64_t find(std::uint64_t count) const;
    void leave(std::uint64_t first);

    std::mutex mutex_;
    std::uint64_t slots_;
    std::vector<Range> taken_;  ///< In ascending order.
};

/// Slots that a communicator has. Its destructor leaves them. No part of an operation of the communicator may be under way then, because it
/// could still publish in them.
class Slots {
  public:
    Slots() = default;
    Slots(SlotAllocator& all, std::uint64_t first) : all_(&all), first_(first) {}
    Slots(Slots&& from) noexcept : all_(std::exchange(from.all_, nullptr)), first_(std::exchange(from.first_, kNoSlots)) {}
    Slots& operator=(Slots&& from) noexcept {
        std::swap(all_, from.all_);
        std::swap(first_, from.first_);
        return *this;
    }
    ~Slots() {
        if (all_) all_->leave(first_);
    }

    /// The first of them, or kNoSlots.
    std::uint64_t first() const noexcept { return first_; }

  private:
    SlotAllocator* all_ = nullptr;
    std::uint64_t first_ = kNoSlots;
};

}  // namespace rollcall::runtime
