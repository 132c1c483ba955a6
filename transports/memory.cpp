#include "transports/memory.hpp"

#include <cstdlib>

#include <sys/mman.h>

#include "foundation/huge_memory.hpp"

namespace rollcall::transport {
namespace {

constexpr std::uint64_t kHugePage = HugeAllocator<char>::kHugePage;

constexpr std::uint64_t kCacheLine = 64;  // no type that has an alignment by itself has a larger one

}  // namespace

void* PlainMemory::allocate(std::uint64_t bytes) noexcept {
    if (bytes < kMapped) return std::aligned_alloc(kCacheLine, (bytes + kCacheLine - 1) / kCacheLine * kCacheLine);
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    // The kernel gives huge pages for those of them that are mapped as a whole.
    if (bytes >= kHugePage) ::madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void PlainMemory::release(void* memory, std::uint64_t bytes) noexcept {
    if (bytes < kMapped)
        std::free(memory);
    else if (memory)
        ::munmap(memory, bytes);
}

}  // namespace rollcall::transport
