/// \file
/// Roots that a process holds for jobs whose ranks come later.
#pragma once

#include <string>

#include <rollcall/time.hpp>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

/// Starts a root for one job, of a size that its first rank tells, and gives its invitation. The root ends when all ranks
/// have left, or with this process. Any thread. Throws Error{bootstrap, invalid_setting}.
std::string host_root();

/// Waits, at most so long, until the root of the job with this key has ended, if this process holds it. Any thread.
void finish_hosted_root(const Key& key, Timeout limit) noexcept;

}  // namespace rollcall::bootstrap
