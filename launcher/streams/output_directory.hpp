/// \file
/// The directory of --output-directory.
#pragma once

#include <string>

namespace rollcall::launcher {

/// Makes a directory, with those above it, and returns its absolute path. Throws Error{invalid_argument} if it cannot be made or takes no
/// files.
std::string make_output_directory(const std::string& directory);

}  // namespace rollcall::launcher
