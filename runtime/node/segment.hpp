/// \file
/// Sets up the memory that the ranks of a node share.
///
/// Every rank makes a memory file without a name (memfd_create) and puts the file's number on its card. The first rank of the node is the
/// owner: the others map its file, which they reach through /proc/PID/fd. This needs no /dev/shm, whose size containers limit. It works
/// under every starter, and leaves nothing behind, whichever process dies. It requires that the ranks have one kernel, one user and one PID
/// namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/node/node_memory.hpp"

namespace rollcall::runtime::node {

/// What a rank tells the other ranks about its file.
struct Handle {
    std::uint64_t domain = 0;  ///< Ranks with the same value can share memory. 0: this rank can share none.
    std::int32_t process = 0;
    std::int32_t file = -1;
    std::uint64_t slots = 0;  ///< Number of slots that its region would have.
    std::uint32_t large_blocks = 0;
};

/// How many large blocks a rank with this landing budget can have. 0: the budget is so small that the rank publishes nothing.
std::uint32_t large_blocks_for(std::uint64_t landing_bytes);
/// The geometry of all regions of a node. All its ranks compute the same one.
Geometry geometry_of(std::span<const Handle> handles);

/// A mapping of shared memory.
class Segment {
  public:
    /// Makes a file of this rank's own, which is empty at first. Only ranks of the same part of the node will share memory. Where that is
    /// not possible, the domain of handle() is 0, and why_not() gives the reason.
    Segment(std::uint64_t slots, std::uint64_t landing_bytes, std::uint64_t part = 0);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    const Handle& handle() const noexcept { return handle_; }
    const std::string& why_not() const noexcept { return why_not_; }

    /// Maps the memory of a node, in the file of the owner, which may be this rank. The system provides pages when they are first written.
    /// Throws Error{bootstrap}.
    Shared map(Handle owner, const std::string& name_of_owner, const Geometry& geometry, int ranks);
    /// Closes the file: this rank shares memory with no other rank.
    void close() noexcept;

  private:
    /// Returns the reason of a failure, or an empty string.
    std::string make_file(std::uint64_t slots, std::uint64_t landing_bytes, std::uint64_t part);

    int file_ = -1;
    Handle handle_;
    std::string why_not_;
    Shared shared_;
};

}  // namespace rollcall::runtime::node
