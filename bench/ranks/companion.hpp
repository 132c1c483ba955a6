/// \file
/// Finds programs of this project that the command runs and that users do not call.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall::bench {

/// Returns the path of the file `name`. In a build tree it is in the directory `directory` beside the command; when installed it is in
/// the installation's libexec/rollcall. Throws Error{state} that says where it was looked for, followed by `advice`.
std::filesystem::path find_companion(const std::string& directory, const std::string& name, const std::string& advice);

}  // namespace rollcall::bench
