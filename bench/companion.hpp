/// \file
/// Programs of this project that the command runs, and that are not for users.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall::bench {

/// The file `name`: in a build tree in the directory `directory` beside the command, installed in libexec/rollcall. Throws
/// Error{state} that says where it was looked for, and then `advice`.
std::filesystem::path find_companion(const std::string& directory, const std::string& name, const std::string& advice);

}  // namespace rollcall::bench
