/// \file
/// The log of the library.
#pragma once

#include <string>

namespace rollcall::inline foundation {

/// Makes the logger "rollcall" with this level (ROLLCALL_LOG), which writes to standard error, unless there is one: what the
/// library has to say before that is not said. The default logger is the program's. Thread-safe.
void start_log(const std::string& level);

}  // namespace rollcall::inline foundation
