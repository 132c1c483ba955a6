/// \file
/// Which processors of this machine the ranks of a job are bound to, so that other jobs leave them alone.
#pragma once

#include <span>
#include <vector>

#include "foundation/descriptor.hpp"

namespace rollcall::launcher {

/// The claims of one job on one machine. They end with this object, and when the process that holds it ends, however
/// it ends. Programs that it executes do not keep them.
///
/// A claim is a lock on a byte of a file that every process can open, for reading only: the byte of processor p has
/// the offset p. By default that file is the time namespace of this process, which is an object of the kernel, not of
/// a file system. All users see it, and all containers of a kernel, unless they have time namespaces of their own. It
/// needs no place to write and leaves nothing behind. Read locks are shared, so several jobs can claim the same
/// processor, and a job that was told what to bind to is never refused. Not thread-safe.
class Claims {
  public:
    static constexpr const char* kFile = "/proc/self/ns/time";

    explicit Claims(const char* path = kFile);

    /// Whether the system has such a file, and release() was not called.
    bool possible() const { return static_cast<bool>(file_); }
    /// Adds processors to the claims. Returns false if the system does not allow that; some may then be claimed.
    [[nodiscard]] bool claim(std::span<const int> processors);
    /// Ends all claims of this object, which can make no more.
    void release() { file_.reset(); }
    /// Returns those of `processors` that other jobs have claimed, in the same order. All if the system does not tell.
    std::vector<int> claimed_by_others(std::span<const int> processors) const;

  private:
    Descriptor file_;
};

}  // namespace rollcall::launcher
