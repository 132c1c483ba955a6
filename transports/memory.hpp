/// \file
/// The memory into and out of which a transport moves data, such as landing buffers.
#pragma once

#include <cstdint>

namespace rollcall::transport {

/// Provides memory. A transport that must register memory with its network does so here, once for each piece and not for each transfer.
/// Owner-only, like the transport.
class Memory {
  public:
    /// Returns null when there is no memory now. The content is undefined.
    virtual void* allocate(std::uint64_t bytes) noexcept = 0;
    /// `bytes` is the size that was asked for.
    virtual void release(void* memory, std::uint64_t bytes) noexcept = 0;

  protected:
    ~Memory() = default;
};

/// Memory that is not registered. Small pieces come from the heap. Large ones are mapped, so that they go back to the system when they are
/// released. Pieces at least as long as a huge page use huge pages, where there are any.
class PlainMemory final : public Memory {
  public:
    void* allocate(std::uint64_t bytes) noexcept override;
    void release(void* memory, std::uint64_t bytes) noexcept override;

    /// Pieces of this size or more are mapped. The first touch of fresh pages costs more than the transfer, so it pays to keep such memory.
    static constexpr std::uint64_t kMapped = 64 * 1024;
};

}  // namespace rollcall::transport
