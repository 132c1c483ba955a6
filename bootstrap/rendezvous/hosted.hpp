/// \file
/// Roots that a process holds for jobs whose ranks come later.
#pragma once

#include <string>

#include <rollcall/time.hpp>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

/// Starts a root for one job and returns its invitation. The first rank tells the root the size of the job. The root ends when all ranks
/// have left, or with this process. Thread-safe. Throws Error{bootstrap, invalid_setting}.
std::string host_root();

/// Ends the root of the job with this key at once. Does nothing if this process does not hold that root. Thread-safe.
void forget_hosted_root(const Key& key);

/// Waits until the root of the job with this key has ended, for `limit` at most. Does nothing if this process does not hold that root.
/// Thread-safe.
void finish_hosted_root(const Key& key, Timeout limit) noexcept;

}  // namespace rollcall::bootstrap
