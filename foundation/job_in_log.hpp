/// \file
/// How messages in the log name their job.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::inline foundation {

/// How many jobs this process has joined, or has tried to. Connections of two jobs do not count.
inline std::atomic<int> jobs_of_this_process = 0;

/// Returns what a message of this job begins with: "job NAME: ", or nothing if this process has joined no other job. Thread-safe.
inline std::string job_in_log(std::string_view name) {
    return jobs_of_this_process.load(std::memory_order_relaxed) > 1 ? fmt::format("job {}: ", name) : std::string();
}

}  // namespace rollcall::inline foundation
