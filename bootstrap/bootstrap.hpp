/// \file
/// How the processes of a job find each other: an interface, so that other ways of starting a job can follow.
///
/// A bootstrap knows this process's place in the job, exchanges small opaque blobs between all processes (addresses,
/// keys), holds barriers outside the transport, and delivers notices: who died. Nothing here is fast or needs to be.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

#include "bootstrap/gathered.hpp"

namespace rollcall::bootstrap {

using Blob = std::vector<std::byte>;

/// This process's place in its job.
struct Place {
    int rank = 0;
    int size = 1;
    int local_rank = 0;  ///< Among the processes of the same host, in rank order.
    int local_size = 1;
    int hosts = 1;     ///< Number of distinct hosts of the job.
    std::string job;   ///< An identifier for messages; not a secret.
    std::string host;  ///< This host's name.
};

/// Something that happened to another process of the job.
struct Notice {
    int rank = -1;  ///< The rank that died, or -1: the whole job is being ended.
    /// A clause that completes "rank 3 on host a ...": "was killed by signal 9 (Killed)". Of the whole job: a sentence with its subject.
    std::string how;
};

/// Called again and again while a bootstrap call waits, so that the caller's transport keeps moving. May be empty.
using Meanwhile = std::function<void()>;

/// Rules: exchange() and barrier() are collective over the job, and every process calls them in the same order, from one
/// thread at a time. notice_descriptor() and take_notice() may be used by one other thread at the same time as those.
/// A process that dies makes exchange() and barrier() of the others throw Error{peer_failed} naming it; they never hang.
class Bootstrap {
  public:
    virtual ~Bootstrap() = default;

    /// What started this process: "rollcall run", "alone", ...
    virtual std::string_view name() const = 0;
    virtual const Place& place() const = 0;

    /// All-gather. Throws Error{bootstrap, peer_failed, timeout}.
    virtual Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) = 0;
    /// Returns when every process of the job has called it. Throws as exchange().
    virtual void barrier(const Meanwhile& meanwhile, Timeout timeout) = 0;

    /// Readable when take_notice() may have something; -1 when this bootstrap never has notices.
    virtual int notice_descriptor() const = 0;
    /// Takes one notice if there is one. Never blocks.
    virtual std::optional<Notice> take_notice() = 0;

    /// Says that this process leaves in good order: its later exit is not a death. Called last, after the last barrier.
    virtual void leave() noexcept = 0;
    /// Asks whoever started the job to end all of it with this exit code. Waits for a second or two at most, until that is said.
    virtual void abort(int code, std::string_view why) noexcept = 0;
};

/// How this process was started, as its environment tells.
struct Evidence {
    std::string starter;   ///< "srun (Slurm)"; "alone" when no starter is evident.
    std::string variable;  ///< That tells of it, or of a starter of one process; empty: none does.
    bool supported = true;
    bool alone = true;
};

/// Looks only: nothing is joined, and whether the starter can be used shows in find_bootstrap().
Evidence evident_starter();

/// Finds out how this process was started. The innermost launcher wins, also when it has started one process only. A process
/// that was started by no launcher is a job of one. The variables that told of launchers are taken out of the environment, but
/// for torchrun's: what this program starts is no rank. Throws Error{bootstrap} when a launcher is evident but cannot be used.
std::unique_ptr<Bootstrap> find_bootstrap();

}  // namespace rollcall::bootstrap
