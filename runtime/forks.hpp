/// \file
/// Tells whether this process is the one that joined a job, or a child that was forked from it.
#pragma once

#include <cstdint>

namespace rollcall::runtime {

/// Number of forks that led to this process since watch_forks(). It grows by one in each forked child, before fork() returns there. At that
/// moment the child has one thread only, so reading the number is a plain load.
extern std::uint32_t forks_so_far;

/// Starts the counting. Any thread may call this, any number of times.
void watch_forks();

}  // namespace rollcall::runtime
