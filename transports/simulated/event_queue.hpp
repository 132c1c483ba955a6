/// \file
/// The queue of future events. It consists of a heap and, before it, the next few events in order, so that a caller can look ahead. The
/// nodes of the heap have four children. Such a heap is shallower than a binary one, and the children of a node are contiguous in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "foundation/huge_memory.hpp"

namespace rollcall::transport {

/// `Event` must be copyable and have `bool before(const Event&) const`, a strict total order.
template <class Event>
class EventQueue {
  public:
    /// The number of next events that are kept in order, if there are that many.
    static constexpr std::size_t kAhead = 8;

    bool empty() const noexcept { return near_count_ == 0; }
    const Event& top() const noexcept { return near_[0]; }
    /// Returns the event at position `ahead` in the present order (0: the next one), or null if it is not known. Events pushed later may
    /// come before it.
    const Event* ahead(std::size_t ahead) const noexcept { return ahead < near_count_ ? &near_[ahead] : nullptr; }

    void push(const Event& event) {
        if (near_count_ == kAhead) {
            if (!event.before(near_[kAhead - 1])) return push_far(event);
            push_far(near_[kAhead - 1]);
            --near_count_;
        } else if (!heap_.empty() && !event.before(heap_.front())) {
            return push_far(event);
        }
        std::size_t place = near_count_++;
        for (; place > 0 && event.before(near_[place - 1]); --place) near_[place] = near_[place - 1];
        near_[place] = event;
    }

    void pop() {
        std::copy(near_.begin() + 1, near_.begin() + static_cast<std::ptrdiff_t>(near_count_), near_.begin());
        --near_count_;
        if (heap_.empty()) return;
        near_[near_count_++] = heap_.front();
        pop_far();
    }

  private:
    void push_far(const Event& event) {
        heap_.push_back(event);
        std::size_t hole = heap_.size() - 1;
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / kChildren;
            if (!event.before(heap_[parent])) break;
            heap_[hole] = heap_[parent];
            hole = parent;
        }
        heap_[hole] = event;
    }

    void pop_far() {
        const Event last = heap_.back();
        heap_.pop_back();
        if (heap_.empty()) return;
        std::size_t hole = 0;
        for (;;) {
            const std::size_t first = hole * kChildren + 1;
            if (first >= heap_.size()) break;
            std::size_t least = first;
            for (std::size_t child = first + 1; child < std::min(first + kChildren, heap_.size()); ++child)
                if (heap_[child].before(heap_[least])) least = child;
            if (!heap_[least].before(last)) break;
            heap_[hole] = heap_[least];
            hole = least;
        }
        heap_[hole] = last;
    }

    static constexpr std::size_t kChildren = 4;
    std::array<Event, kAhead> near_;
    std::size_t near_count_ = 0;
    std::vector<Event, HugeAllocator<Event>> heap_;
};

}  // namespace rollcall::transport
