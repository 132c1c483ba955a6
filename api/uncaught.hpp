/// \file
/// Tells the other ranks when an uncaught exception ends a program.
#pragma once

#include <memory>

#include "runtime/process.hpp"

namespace rollcall {

/// From now on, when an uncaught exception ends this program, the other ranks of this process's job are told why. Then the program ends as
/// it would without this function (std::terminate). A process may have several jobs, and the ranks of all of them are told. An exception
/// that reports another rank's death is not told, because the other ranks know of that death. Any thread.
void tell_job_of_uncaught(const std::shared_ptr<runtime::Process>& process);

/// Call it before the process of a job leaves. If another thread has thrown an uncaught exception, this waits until the others have been
/// told, and the program ends.
void forget_job_of_uncaught(const runtime::Process& process);

}  // namespace rollcall
