#include "runtime/group/slots.hpp"

#include <algorithm>

namespace rollcall::runtime {

std::uint64_t SlotAllocator::find(std::uint64_t count) const {
    std::uint64_t first = 0;
    for (const Range& range : taken_) {
        if (range.first >= first + count) break;
        first = range.first + range.count;
    }
    return first + count > slots_ ? kNoSlots : first;
}

Slots SlotAllocator::take(std::uint64_t count, const IsUnread& is_unread) {
    const std::lock_guard lock(mutex_);
    std::erase_if(taken_, [&](const Range& range) { return range.is_left && !is_unread(range.first, range.count); });
    std::uint64_t first = find(count);
    if (first == kNoSlots) {
        std::erase_if(taken_, [](const Range& range) { return range.is_left; });
        first = find(count);
    }
    if (first == kNoSlots) return {};
    const auto behind = std::find_if(taken_.begin(), taken_.end(), [&](const Range& range) { return range.first > first; });
    taken_.insert(behind, Range{first, count, false});
    return {*this, first};
}

void SlotAllocator::leave(std::uint64_t first) {
    const std::lock_guard lock(mutex_);
    for (Range& range : taken_)
        if (range.first == first) range.is_left = true;
}

}  // namespace rollcall::runtime
