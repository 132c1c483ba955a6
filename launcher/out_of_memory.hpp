/// \file
/// Tells whether the kernel may have killed a process because memory ran out.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace rollcall::launcher {

/// Counts the processes of this host that the kernel has killed for lack of memory since this object was made. The kernel does not say
/// which ones they were.
class OutOfMemory {
  public:
    /// `statistics`: a file of the form of /proc/vmstat (the line `oom_kill`, Linux 4.13 and newer).
    explicit OutOfMemory(std::string statistics = "/proc/vmstat") : statistics_(std::move(statistics)), explained_(killed()) {}

    /// For a process that SIGKILL has ended: whether there has been such a kill that no earlier process was told of.
    bool explains_kill() {
        if (killed() <= explained_) return false;
        ++explained_;
        return true;
    }

  private:
    std::uint64_t killed() const {
        std::ifstream file(statistics_);
        std::string name;
        for (std::uint64_t value = 0; file >> name >> value;)
            if (name == "oom_kill") return value;
        return 0;
    }

    std::string statistics_;
    std::uint64_t explained_;
};

}  // namespace rollcall::launcher
