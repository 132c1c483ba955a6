/// \file
/// Whether this process is the one that joined a job, or a child that it forked.
#pragma once

#include <cstdint>

namespace rollcall::runtime {

/// Grows by one in each child, before fork() returns there; never in a process that has threads. So reading it costs a load.
extern std::uint32_t forks_so_far;

/// Lets it grow from now on. Any thread, any number of times.
void watch_forks();

}  // namespace rollcall::runtime
