/// \file
/// How the processes of a job find each other. This is an interface, so that other ways of starting a job can follow.
///
/// A bootstrap knows the place of this process in the job. It exchanges small opaque blobs between all processes
/// (addresses, keys), holds barriers outside the transport, and delivers notices of deaths. Nothing here is fast or
/// needs to be.
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
    /// A clause that completes "rank 3 on host a ...": "was killed by signal 9 (Killed)". If the whole job is being
    /// ended: a sentence with its subject.
    std::string how;
    int ended_by = -1;  ///< The rank that ended the whole job, by an abort or as the one where all hosts met; -1: no single rank did.
};

/// Called again and again while a bootstrap call waits, so that the caller's transport goes on moving data. May be
/// empty.
using Meanwhile = std::function<void()>;

/// exchange() and barrier() are collective over the job. Every process calls them in the same order, from one thread
/// at a time. At the same time, one other thread may use notice_descriptor() and take_notice(). If a process dies,
/// exchange() and barrier() of the others throw Error{peer_failed}, which names it; they never hang.
class Bootstrap {
  public:
    virtual ~Bootstrap() = default;

    /// The starter of this process: "rollcall run", "alone", ...
    virtual std::string_view name() const = 0;
    virtual const Place& place() const = 0;

    /// All-gather. Throws Error{bootstrap, peer_failed, timeout}.
    virtual Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) = 0;
    /// Returns when every process of the job has called it. Throws as exchange() does.
    virtual void barrier(const Meanwhile& meanwhile, Timeout timeout) = 0;

    /// A descriptor that is readable when take_notice() may have something; -1 if this bootstrap never has notices.
    virtual int notice_descriptor() const = 0;
    /// Takes one notice if there is one. Never blocks.
    virtual std::optional<Notice> take_notice() = 0;

    /// Says that this process leaves in good order, so its later exit does not count as a death. Called last, after
    /// the last barrier.
    virtual void leave() noexcept = 0;
    /// Says why this process will go without leave(): a clause that completes "rank 3 on host a ...". The others hear it when the process
    /// goes. Without it they hear that its connection was closed.
    virtual void farewell(std::string_view how) noexcept = 0;
    /// Lets the others see this process's death, although it lives on. Called last, in place of leave().
    virtual void vanish() noexcept = 0;
    /// Asks the starter of the job to end all of it with this exit code. Waits at most a second or two until the
    /// request has been sent.
    virtual void abort(int code, std::string_view why) noexcept = 0;
};

/// How this process was started, according to its environment.
struct Evidence {
    std::string starter;   ///< "srun (Slurm)"; "alone" when no starter is evident.
    std::string variable;  ///< Shows that starter, or a starter of one process; empty: none does.
    bool supported = true;
    bool alone = true;
};

/// Looks for the starter without joining the job. Only find_bootstrap() finds out whether the starter can be used.
Evidence evident_starter();

/// Finds out how this process was started, and joins its job. The innermost starter wins, even if it has started one
/// process only. A process that no starter has started is a job of one. The variables that tell of starters are
/// removed from the environment, because a program that this process starts is not a rank; only torchrun's variables
/// stay. Throws Error{bootstrap} when a starter is evident but cannot be used, and Error{state} when this process has
/// already joined its job, by this copy of the library or by another one.
std::unique_ptr<Bootstrap> find_bootstrap();

}  // namespace rollcall::bootstrap
