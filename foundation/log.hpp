/// \file
/// The log of the library.
#pragma once

#include <string>

namespace rollcall::inline foundation {

/// Creates the logger "rollcall" with this level (ROLLCALL_LOG), unless it exists. It writes to standard error. Messages of the library
/// before this call are dropped. The default logger belongs to the program and is not changed. Thread-safe.
void start_log(const std::string& level);

}  // namespace rollcall::inline foundation
