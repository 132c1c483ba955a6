/// \file
/// The home directory of the user.
#pragma once

#include <string>

namespace rollcall::inline foundation {

/// Returns what HOME says, or else what the system knows of this user. Empty: the user has no home directory.
std::string home_directory();

}  // namespace rollcall::inline foundation
