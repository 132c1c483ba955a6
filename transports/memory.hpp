/// \file
/// Memory that a transport moves data into and out of, such as landing buffers.
#pragma once

#include <cstdint>

namespace rollcall::transport {

/// Gives memory. A transport that must register memory with its network does so here, once for each piece, and not at
/// each transfer. Owner-only, as the transport is.
class Memory {
  public:
    /// Null: there is none now. The content is not defined.
    virtual void* allocate(std::uint64_t bytes) noexcept = 0;
    /// `bytes` as they were asked for.
    virtual void release(void* memory, std::uint64_t bytes) noexcept = 0;

  protected:
    ~Memory() = default;
};

/// Memory that nobody registers. Small pieces come from the heap. Large ones are mapped, so that they go back to the system when they are
/// released; from the length of a huge page on they are of huge pages, where there are any.
class PlainMemory final : public Memory {
  public:
    void* allocate(std::uint64_t bytes) noexcept override;
    void release(void* memory, std::uint64_t bytes) noexcept override;

    /// From here on memory is mapped: the first touch of fresh pages costs more than the transfer, so it is worth keeping.
    static constexpr std::uint64_t kMapped = 64 * 1024;
};

}  // namespace rollcall::transport
