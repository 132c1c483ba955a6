/// \file
/// The last words of a program that ends by an exception nobody catches.
#pragma once

#include "runtime/process.hpp"

namespace rollcall {

/// From now on the others of this process's job are told why, when an uncaught exception ends this program; then it ends as it would
/// without (std::terminate). An exception that tells of another rank's death is not told: the others know. Any thread.
void tell_job_of_uncaught(runtime::Process& process);

/// Before the process of a job is taken down.
void forget_job_of_uncaught(runtime::Process& process);

}  // namespace rollcall
