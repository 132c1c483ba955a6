/// \file
/// Tells whether the kernel may have killed a process because memory ran out.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace rollcall::launcher {

/// Counts the processes of this host that the kernel has killed for lack of memory since this object was made. The kernel says neither
/// which ones they were nor when it killed them. They may belong to other jobs and containers.
class OutOfMemory {
  public:
    /// `statistics`: a file of the form of /proc/vmstat (the line `oom_kill`, Linux 4.13 and newer).
    explicit OutOfMemory(std::string statistics = "/proc/vmstat") : statistics_(std::move(statistics)), before_(killed()) {}

    /// For a process that SIGKILL has ended: says in brackets how many such kills there were, as a possible cause. Empty if there was none,
    /// or if this has been said for as many processes already.
    std::string possible_cause() {
        const std::uint64_t now = killed();
        if (now <= before_ + told_) return "";
        ++told_;
        const std::uint64_t kills = now - before_;
        return fmt::format(" (the kernel has killed {} of its host for lack of memory since the job began)",
                           kills == 1 ? "a process" : fmt::format("{} processes", kills));
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
    std::uint64_t before_;  // this object was made
    std::uint64_t told_ = 0;
};

}  // namespace rollcall::launcher
