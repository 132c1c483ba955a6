/// \file
/// How a program that starts its processes itself makes them a job.
///
/// Such a program, for example a framework with worker processes, tells each process its rank and the number of ranks. It also provides one
/// of two things by which the ranks find each other:
///   - an **allgather** of bytes between its processes, which is called once, when the job is made; or
///   - a **unique id**, which one process makes and the program hands to all ranks in any way it has (as with NCCL).
///
///     rollcall::Embedding embedding;
///     embedding.rank = my_number;
///     embedding.size = number_of_workers;
///     embedding.unique_id = id_that_came_over_the_wire;
///     rollcall::Job job(embedding);
///
/// docs/embedding.md says what a framework must know of threads, signals, memory and errors.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include <rollcall/export.h>

namespace rollcall {

/// The means by which ranks find one job. It holds the job's key, so hand it over in ways that other users cannot read, and do not store
/// it.
struct UniqueId {
    static constexpr std::size_t kBytes = 256;  ///< Its size.
    std::array<std::byte, kBytes> bytes{};      ///< The program hands these bytes to all ranks unchanged.
};

/// Makes a unique id for one job. From then on a thread of this process waits for the ranks of that job, so this process must live until
/// the job has ended. If it ends earlier, all ranks get an error that the job cannot go on. This process may become a rank itself, but need
/// not. The setting ROLLCALL_NET decides on which network interface it waits, and ROLLCALL_PORT on which port.
///
/// Call it once for each job. Any thread may call it, any number of times. A program that forks its workers may make the id before it forks
/// them: a child process can use the id as any other process can. But let the children execute a program (`exec`): a child that only forks
/// has a copy of the locks that threads of libraries hold at that moment, and nobody releases them. UCX 1.18 starts a thread when it is
/// loaded, and its copy can keep a Job from starting. Throws Error{bootstrap, invalid_setting}.
ROLLCALL_EXPORT UniqueId make_unique_id();

/// Gives back an id of make_unique_id() that is not needed any more: its thread and its file descriptors (up to 4) end. Otherwise they end
/// with the job. Ranks that come by this id later get Error{timeout} after ROLLCALL_LAUNCH_TIMEOUT, and a job that is running by it cannot
/// go on. Does nothing if the job has ended, or if another process has made the id. Any thread may call it. Throws Error{invalid_argument}
/// if the id is empty, and Error{bootstrap} if it can be seen to be damaged.
ROLLCALL_EXPORT void forget_unique_id(const UniqueId& id);

/// The place of this process in a job whose processes the program starts itself, for Job(const Embedding&). The environment variables of
/// launchers are ignored then, and stay in the environment; the settings (ROLLCALL_LAUNCH_TIMEOUT and so on) are not ignored. With the
/// transport `ofi`, the constructor of Job calls setenv(), so no other thread may call getenv() meanwhile.
struct Embedding {
    /// A function of the program that gives the bytes `mine` of every process to every process. `all` has `size` times as many bytes as
    /// `mine`, in rank order. It is called once on each rank, by the thread that constructs the Job, with the same number of bytes on all
    /// ranks, at most 512. An exception that it throws leaves the constructor of Job. The bytes hold the job's key, so they must go where
    /// other users cannot read them.
    using Allgather = std::function<void(std::span<const std::byte> mine, std::span<std::byte> all)>;

    /// The rank of this process, from 0 to size - 1.
    int rank = 0;
    /// The number of ranks, at least 1.
    int size = 1;
    /// Give exactly one of the two, `unique_id` or `allgather`; else the constructor of Job throws Error{invalid_argument}.
    std::optional<UniqueId> unique_id = {};
    /// See unique_id.
    Allgather allgather = {};
};

}  // namespace rollcall
