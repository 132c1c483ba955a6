/// \file
/// Starting a job from within another program, which has its own processes and its own way to talk to them.
///
/// A framework that starts its workers itself says to each which rank it is, and how many there are. To find each other the
/// ranks need one of two things from it:
///   - an **allgather** of bytes between its processes, which is called once, when the job is made; or
///   - a **unique id**, made by one process and handed to all by whatever way the framework has (as with NCCL).
///
///     rollcall::Embedding embedding;
///     embedding.rank = my_number;
///     embedding.size = number_of_workers;
///     embedding.unique_id = id_that_came_over_the_wire;
///     rollcall::Job job(embedding);
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include <rollcall/export.h>

namespace rollcall {

/// The way to one job. It holds the job's key: hand it over ways that other users cannot read, and do not store it.
struct UniqueId {
    static constexpr std::size_t kBytes = 256;
    std::array<std::byte, kBytes> bytes{};
};

/// Makes a unique id for one job, and waits from then on, in a thread of its own, for the ranks of that job: this process
/// must live until the job has ended. It may become a rank itself, and need not. ROLLCALL_NET decides on which network
/// interface it waits, ROLLCALL_PORT on which port.
///
/// Any thread; any number of times, once for each job. Programs that fork their workers do that first: a child of a process
/// that has made an id can use it as any other process can. When this process ends before the job, all ranks hear that the
/// job cannot go on. Throws Error{bootstrap, invalid_setting}.
ROLLCALL_EXPORT UniqueId make_unique_id();

/// The place of this process in a job that somebody else started, for Job(const Embedding&). Variables of launchers in the
/// environment do not count then; the settings (ROLLCALL_LAUNCH_TIMEOUT and so on) do.
struct Embedding {
    /// Gives each process the same number of bytes of every process: `all` has size times as many as `mine`, in rank order.
    /// Every rank's is called once, from the thread that makes the Job, with the same number of bytes, at most 512. What it
    /// throws leaves the constructor of Job. The bytes hold the job's key: they go where other users cannot read them.
    using Allgather = std::function<void(std::span<const std::byte> mine, std::span<std::byte> all)>;

    int rank = 0;
    int size = 1;
    /// One of these two is given.
    std::optional<UniqueId> unique_id;
    Allgather allgather;
};

}  // namespace rollcall
