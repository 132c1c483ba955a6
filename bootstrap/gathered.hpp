/// \file
/// What all ranks brought to an exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// A blob of each rank, in rank order. The bytes are where they came: in a frame, or in memory that all ranks of a node
/// share. Cheap to copy; blobs live as long as any copy of this. Thread-safe once made.
class Gathered {
  public:
    Gathered() = default;
    /// From the body of a `gathered` frame (sequence, count, blobs). Throws Error{bootstrap} when it is not one of
    /// `size` ranks.
    Gathered(std::vector<std::byte> body, int size);
    /// The same from `bytes` of a file.
    Gathered(Descriptor file, std::size_t bytes, int size);
    /// That of a job of one.
    explicit Gathered(std::span<const std::byte> only);

    std::size_t size() const { return begins_.size(); }
    std::span<const std::byte> operator[](std::size_t rank) const;
    /// What keeps the bytes.
    const std::shared_ptr<const void>& storage() const { return storage_; }

  private:
    void read(int size);

    std::shared_ptr<const void> storage_;
    std::span<const std::byte> bytes_;
    std::vector<std::uint32_t> begins_;  // of each rank's length
};

/// Answers of this size and more are handed to the ranks of a node as one piece of memory, instead of a copy to each.
inline constexpr std::size_t kSharedAnswer = std::size_t{64} << 10;

/// Hands a large `gathered` frame over a unix socket as a `gathered_memory` frame with a descriptor (SCM_RIGHTS) of
/// memory that is common to all ranks of the node, and sealed. False when it is not such a frame, or that cannot be done
/// now: then the frame is sent itself. Nothing may be on its way on this socket. One thread makes the memory for all.
bool hand_out(int socket, const std::shared_ptr<const std::vector<std::byte>>& frame);

}  // namespace rollcall::bootstrap
