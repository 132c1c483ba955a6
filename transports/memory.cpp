#include "transports/memory.hpp"

#include <cstdlib>

#include <sys/mman.h>

#include "foundation/huge_memory.hpp"

namespace rollcall::transport {
namespace {

constexpr std::uint64_t kHugePage = HugeAllocator<char>::kHugePage;

constexpr std::uint64_t kCacheLine = 64;  // no type that has an alignment by itself has a larger one

// Rounds up to whole huge pages, because the kernel gives a huge page only if all of it is mapped.
std::uint64_t mapped_length(std::uint64_t bytes) noexcept {
    return bytes >= kHugePage ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes;
}

}  // namespace

void* PlainMemory::allocate(std::uint64_t bytes) noexcept {
    if (bytes < kMapped) return std::aligned_alloc(kCacheLine, (bytes + kCacheLine - 1) / kCacheLine * kCacheLine);
    const std::uint64_t length = mapped_length(bytes);
    void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (length >= kHugePage) ::madvise(memory, length, MADV_HUGEPAGE);
    return memory;
}

void PlainMemory::release(void* memory, std::uint64_t bytes) noexcept {
    if (bytes < kMapped)
        std::free(memory);
    else if (memory)
        ::munmap(memory, mapped_length(bytes));
}

}  // namespace rollcall::transport
