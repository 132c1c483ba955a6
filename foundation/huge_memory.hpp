/// \file
/// Memory in huge pages, and prefetching, for the many small objects of a large simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace rollcall::inline foundation {

/// An allocator that asks for huge pages where the memory is at least as long as one such page. A simulation of many thousand ranks jumps
/// through all of its memory, and each jump needs a look-up in the page tables.
template <class T>
struct HugeAllocator {
    using value_type = T;
    HugeAllocator() = default;
    template <class U>
    HugeAllocator(const HugeAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        std::size_t bytes = count * sizeof(T);
        const bool huge = bytes >= kHugePage;
        if (huge) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
        constexpr std::size_t kAlignment = alignof(T) > alignof(std::max_align_t) ? alignof(T) : alignof(std::max_align_t);
        if (!huge) bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        void* memory = std::aligned_alloc(huge ? kHugePage : kAlignment, bytes);
        if (!memory) throw std::bad_alloc();
        if (huge) madvise(memory, bytes, MADV_HUGEPAGE);
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
    bool operator==(const HugeAllocator&) const = default;

    static constexpr std::size_t kHugePage = 2 * 1024 * 1024;
};

/// Asks the processor to prefetch these bytes into the cache. `memory` may be null.
inline void prefetch(const void* memory, std::size_t bytes) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(reinterpret_cast<const void*>(begin + line));
}

}  // namespace rollcall::inline foundation
