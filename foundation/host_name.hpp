/// \file
/// The name of this host.
#pragma once

#include <string>

namespace rollcall::inline foundation {

/// Returns the host name as the system has it, or "localhost" if it has none.
std::string host_name();

}  // namespace rollcall::inline foundation
