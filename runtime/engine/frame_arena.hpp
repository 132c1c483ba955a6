/// \file
/// Memory for coroutine frames and transfers: free lists by size class, filled from large chunks.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "foundation/huge_memory.hpp"

namespace rollcall::runtime {

/// Owner-only (see lane.hpp), so not thread-safe. Blocks larger than the largest class come from the general heap. In a simulation all
/// engines share one arena.
class FrameArena {
  public:
    FrameArena() = default;
    FrameArena(const FrameArena&) = delete;
    FrameArena& operator=(const FrameArena&) = delete;

    void* allocate(std::size_t size) {
        const std::size_t index = class_of(size);
        if (index >= kClasses) return ::operator new(size);
        if (Free* free = free_[index]) {
            free_[index] = free->next;
            __builtin_prefetch(free->next);
            return free;
        }
        return carve((index + 1) * kGrain);
    }

    void release(void* pointer, std::size_t size) noexcept {
        const std::size_t index = class_of(size);
        if (index >= kClasses) {
            ::operator delete(pointer);
            return;
        }
        free_[index] = ::new (pointer) Free{free_[index]};
    }

  private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t kGrain = 64;
    static constexpr std::size_t kClasses = 32;  // up to 2 KiB
    static constexpr std::size_t kChunk = 64 * 1024;
    static constexpr std::size_t kSmallChunks = 32;
    /// A chunk of memory, which is not written when it is made.
    class Chunk {
      public:
        explicit Chunk(std::size_t size) : data_(HugeAllocator<std::byte>().allocate(size)) {}
        std::byte* data() const { return data_.get(); }

      private:
        struct Free {
            void operator()(std::byte* memory) const { HugeAllocator<std::byte>().deallocate(memory, 0); }
        };
        std::unique_ptr<std::byte, Free> data_;
    };

    static constexpr std::size_t class_of(std::size_t size) { return (size + kGrain - 1) / kGrain - (size ? 1 : 0); }

    void* carve(std::size_t size) {
        if (left_ < size) {
            // A simulation of many ranks fills many chunks. From then on each chunk is a huge page.
            const std::size_t chunk = chunks_.size() < kSmallChunks ? kChunk : HugeAllocator<std::byte>::kHugePage;
            next_ = chunks_.emplace_back(chunk).data();
            left_ = chunk;
        }
        void* block = next_;
        next_ += size;
        left_ -= size;
        return block;
    }

    std::array<Free*, kClasses> free_{};
    std::vector<Chunk> chunks_;
    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
};

}  // namespace rollcall::runtime
