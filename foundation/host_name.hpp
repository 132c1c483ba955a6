/// \file
/// The name of this host.
#pragma once

#include <string>

namespace rollcall::inline foundation {

/// As the system has it; "localhost" when it has none.
std::string host_name();

}  // namespace rollcall::inline foundation
