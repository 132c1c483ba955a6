#include "runtime/landing/landing.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <sys/mman.h>

namespace rollcall::runtime {
namespace {
// Below this the general heap is used; from here on buffers are mapped and kept.
constexpr std::uint64_t kMapped = 64 * 1024;
constexpr std::uint64_t kHugePage = 2 * 1024 * 1024;
}  // namespace

Landing::~Landing() {
    for (const Kept& kept : kept_) munmap(kept.data, kept.capacity);
}

std::uint64_t Landing::capacity_for(std::uint64_t size) noexcept {
    return size >= kHugePage ? (size + kHugePage - 1) / kHugePage * kHugePage : std::bit_ceil(size);
}

std::optional<transport::Bytes> Landing::take(std::uint64_t size, bool phantom) {
    if (charge(size) > budget_ - used_) return std::nullopt;
    void* data = nullptr;
    if (!phantom && size >= kMapped) {
        const std::uint64_t capacity = capacity_for(size);
        const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.capacity == capacity; });
        if (found != kept_.end()) {
            data = found->data;
            kept_bytes_ -= capacity;
            *found = kept_.back();
            kept_.pop_back();
        } else {
            data = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (data == MAP_FAILED) return std::nullopt;
            if (capacity >= kHugePage) madvise(data, capacity, MADV_HUGEPAGE);
        }
    } else if (!phantom) {
        data = std::malloc(size);
        if (!data) return std::nullopt;
    }
    used_ += charge(size);
    peak_ = std::max(peak_, used_);
    return transport::Bytes{data, size};
}

void Landing::give_back(transport::Bytes buffer) noexcept {
    used_ -= charge(buffer.size);
    if (!buffer.data) return;
    if (buffer.size < kMapped) {
        std::free(buffer.data);
        return;
    }
    const std::uint64_t capacity = capacity_for(buffer.size);
    // Kept buffers and used ones together stay within the budget (but for the rounding of the kept ones).
    if (used_ + kept_bytes_ + capacity <= std::max(budget_, capacity)) {
        kept_.push_back({buffer.data, capacity});
        kept_bytes_ += capacity;
    } else {
        munmap(buffer.data, capacity);
    }
}

}  // namespace rollcall::runtime
