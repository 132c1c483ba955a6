/// \file
/// Sets up the memory that the ranks of a node share.
///
/// Every rank makes a memory file without a name (memfd_create) and puts the file's number on its card. The first rank of the node is the
/// owner: the others map its file, which they reach through /proc/PID/fd. This needs no /dev/shm, whose size containers limit. It works
/// under every starter, and leaves nothing behind, whichever process dies. It requires that the ranks have one kernel, one user, and what
/// else node_identity() says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "foundation/descriptor.hpp"
#include "runtime/node/node_memory.hpp"

namespace rollcall::runtime::node {

/// What a rank tells the other ranks about its file.
struct Handle {
    std::uint64_t domain = 0;  ///< Ranks with the same value can share memory. 0: this rank can share none.
    std::int32_t process = 0;
    std::int32_t file = -1;
    std::uint64_t slots = 0;  ///< Number of slots that its region would have.
    std::uint32_t large_blocks = 0;
    std::uint64_t longest_file = std::numeric_limits<std::uint64_t>::max();  ///< Its limit of file sizes (RLIMIT_FSIZE), in bytes.
};

/// How many large blocks a rank with this landing budget can have. 0: the budget is so small that the rank publishes nothing.
std::uint32_t large_blocks_for(std::uint64_t landing_bytes);
/// The geometry of all regions of a node. All its ranks compute the same one.
Geometry geometry_of(std::span<const Handle> handles);
/// The size of the file that the ranks of a node share, in bytes. Only what is used of it has pages.
std::uint64_t file_bytes(std::span<const Handle> handles);

/// A node whose ranks share no memory, because one of them may not make a file of that size.
struct TooLong {
    std::uint64_t bytes = 0;  ///< The size of the file.
    std::uint64_t limit = 0;  ///< The lowest limit of its ranks, in bytes.
    int ranks = 0;            ///< Number of ranks of the node.
    int limited = 0;          ///< The first rank of the job that has this limit.
};
/// Finds all such nodes, in the order of their first ranks, and sets the domains of their ranks to 0. `handles` are those of all ranks of
/// the job, so all ranks find the same nodes. Any rank of a node may be the one that gives the file its size, so all of them must be
/// allowed to.
std::vector<TooLong> leave_out_too_long(std::span<Handle> handles);

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
    /// Throws Error{peer_failed} with the owner's rank if the owner has ended, and otherwise Error{bootstrap}.
    Shared map(Handle owner, int rank_of_owner, const std::string& name_of_owner, const Geometry& geometry, int ranks);
    /// Closes the file: this rank shares memory with no other rank.
    void close() noexcept;

  private:
    /// Returns the reason of a failure, or an empty string.
    std::string make_file(std::uint64_t slots, std::uint64_t landing_bytes, std::uint64_t part);

    Descriptor file_;
    Handle handle_;
    std::string why_not_;
    Shared shared_;
};

}  // namespace rollcall::runtime::node
