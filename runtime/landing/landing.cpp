#include "runtime/landing/landing.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "foundation/huge_memory.hpp"

namespace rollcall::runtime {
namespace {
// Buffers of at least this size are kept for reuse.
constexpr std::uint64_t kWorthKeeping = transport::PlainMemory::kMapped;
constexpr std::uint64_t kHugePage = HugeAllocator<char>::kHugePage;
}  // namespace

Landing::~Landing() {
    for (const Kept& kept : kept_) memory_.release(kept.data, kept.capacity);
}

// So that a buffer that is kept fits other messages, too, sizes are rounded up. Up to the next power of two costs no memory where pages are
// small, because the rest of the buffer is never touched. In huge pages it would be there all the same.
std::uint64_t Landing::capacity_for(std::uint64_t size) noexcept {
    if (size < kWorthKeeping) return size;
    if (size <= kHugePage / 2) return std::bit_ceil(size);
    const std::uint64_t step = std::bit_floor(size) / 8;
    return (size + step - 1) / step * step;
}

std::optional<transport::Bytes> Landing::take(std::uint64_t size, bool phantom) {
    if (!fits_now(size)) reclaim();
    if (!fits_now(size)) return std::nullopt;
    void* data = nullptr;
    if (!phantom) {
        const std::uint64_t capacity = capacity_for(size);
        const auto fits = [&](const Kept& kept) { return kept.capacity == capacity; };
        // Takes the buffer that was used last, because it is likely to be in the cache.
        const auto last = size < kWorthKeeping ? kept_.rend() : std::find_if(kept_.rbegin(), kept_.rend(), fits);
        if (last != kept_.rend()) {
            const auto found = std::prev(last.base());
            data = found->data;
            kept_bytes_ -= capacity;
            kept_.erase(found);
        } else {
            // Drops kept buffers of other lengths to make room. The one that has been unused longest goes first.
            while (!kept_.empty() && used_ + kept_bytes_ + capacity > budget_) drop(kept_.begin());
            if (const std::uint64_t all = used_ + kept_bytes_ + capacity + (spare_ ? spare_->spare() : 0); spare_ && all > budget_)
                spare_->drop_spare(all - budget_);
            data = memory_.allocate(capacity);
            if (!data) return std::nullopt;
        }
    }
    used_ += charge(size);
    peak_ = std::max(peak_, used_);
    return transport::Bytes{data, size};
}

bool Landing::reserve(std::uint64_t bytes) noexcept {
    if (bytes > budget_ - used_) return false;
    while (!kept_.empty() && used_ + kept_bytes_ + bytes > budget_) drop(kept_.begin());
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    return true;
}

void Landing::drop(std::vector<Kept>::iterator kept) noexcept {
    memory_.release(kept->data, kept->capacity);
    kept_bytes_ -= kept->capacity;
    kept_.erase(kept);
}

void Landing::give_back(transport::Bytes buffer) noexcept {
    used_ -= charge(buffer.size);
    if (!buffer.data) return;
    const std::uint64_t capacity = capacity_for(buffer.size);
    // Together, kept and used buffers stay within the budget, apart from the rounding of the kept ones.
    if (buffer.size >= kWorthKeeping && used_ + kept_bytes_ + capacity <= std::max(budget_, capacity)) {
        kept_.push_back({buffer.data, capacity});
        kept_bytes_ += capacity;
    } else {
        memory_.release(buffer.data, capacity);
    }
}

}  // namespace rollcall::runtime
