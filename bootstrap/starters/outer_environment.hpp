/// \file
/// What the environment told of other starters when `rollcall run` started a process. A rank of a job of one process may be a script in
/// which other starters start jobs. Without this, the variables of such a starter look like those of a starter around `rollcall run`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::bootstrap {

/// `rollcall run` sets this variable for the rank of a job of one process.
inline constexpr const char* kOuterEnvironmentVariable = "ROLLCALL_BOOTSTRAP_AROUND";

/// A variable as it is in the text.
inline std::string encode_outer_variable(std::string_view assignment) { return fmt::format("{};", assignment); }

/// Returns the text for an environment ("NAME=VALUE"): the variables of other starters (find.cpp). It begins with a semicolon, and each
/// variable ends with one.
std::string encode_outer_environment(std::span<const std::string> environment);

/// Whether the text has this variable with this value.
inline bool is_in_outer_environment(std::string_view text, std::string_view variable, std::string_view value) {
    return text.find(";" + encode_outer_variable(fmt::format("{}={}", variable, value))) != std::string_view::npos;
}

}  // namespace rollcall::bootstrap
