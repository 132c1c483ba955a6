/// \file
/// The blobs that all ranks contributed to an exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// The blob of each rank, in rank order. The bytes stay where they arrived: in a frame, or in memory that all ranks
/// of a node share. Copies are cheap. The blobs live as long as any copy of this object. Thread-safe once it is made.
class Gathered {
  public:
    Gathered() = default;
    /// Reads the body of a `gathered` frame (sequence, count, blobs). Throws Error{bootstrap} when it is not a frame
    /// of `size` ranks.
    Gathered(std::vector<std::byte> body, int size);
    /// Reads the same from the first `bytes` of a file.
    Gathered(Descriptor file, std::size_t bytes, int size);
    /// The blob of a job of one process.
    explicit Gathered(std::span<const std::byte> only);

    std::size_t size() const { return begins_.size(); }
    std::span<const std::byte> operator[](std::size_t rank) const;
    /// The object that keeps the bytes alive.
    const std::shared_ptr<const void>& storage() const { return storage_; }

  private:
    void read(int size);

    std::shared_ptr<const void> storage_;
    std::span<const std::byte> bytes_;
    std::vector<std::uint32_t> begins_;  // of each rank's length
};

/// Answers of at least this size are given to the ranks of a node as one piece of memory, instead of a copy for each.
inline constexpr std::size_t kSharedAnswer = std::size_t{64} << 10;

/// Sends a large `gathered` frame over a unix socket as a `gathered_memory` frame, with a descriptor (SCM_RIGHTS) of
/// sealed memory that all ranks of the node share. Returns false if it is not such a frame, or if this cannot be done
/// now; then the frame itself must be sent. Nothing else may be under way on this socket. One thread makes the memory
/// for all ranks.
bool hand_out(int socket, const std::shared_ptr<const std::vector<std::byte>>& frame);

}  // namespace rollcall::bootstrap
