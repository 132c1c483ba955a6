/// \file
/// What the environment told of other starters when `rollcall run` started a process. A rank of a job of one process may be a script in
/// which other starters start jobs. Without this, the variables of such a starter look like those of a starter around `rollcall run`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bootstrap/starters/directory.hpp"

namespace rollcall::bootstrap {

/// `rollcall run` sets this variable for the rank of a job of one process.
inline constexpr const char* kAroundVariable = "ROLLCALL_BOOTSTRAP_AROUND";

/// The variables that tell a process of other starters.
inline constexpr std::string_view kVariablesOfStarters[] = {kDirectoryVariable,
                                                            kDirectoryRankVariable,
                                                            kDirectorySizeVariable,
                                                            "RANK",
                                                            "WORLD_SIZE",
                                                            "MASTER_ADDR",
                                                            "MASTER_PORT",
                                                            "PMI_FD",
                                                            "PMI_RANK",
                                                            "PMI_SIZE",
                                                            "PMI_ID",
                                                            "PMI_PORT",
                                                            "PMIX_RANK",
                                                            "PMIX_NAMESPACE",
                                                            "OMPI_COMM_WORLD_SIZE",
                                                            "OMPI_COMM_WORLD_RANK",
                                                            "SLURM_PROCID",
                                                            "SLURM_STEP_ID"};

/// A variable as it is in the text.
inline std::string one_around(std::string_view assignment) { return fmt::format("{};", assignment); }

/// Returns the text for an environment ("NAME=VALUE"). It begins with a semicolon, and each variable ends with one.
inline std::string what_is_around(std::span<const std::string> environment) {
    std::string text = ";";
    for (const std::string& assignment : environment)
        for (const std::string_view variable : kVariablesOfStarters)
            if (assignment.starts_with(variable) && assignment.substr(variable.size()).starts_with('=')) text += one_around(assignment);
    return text;
}

/// Whether the text has this variable with this value.
inline bool was_around(std::string_view text, std::string_view variable, std::string_view value) {
    return text.find(";" + one_around(fmt::format("{}={}", variable, value))) != std::string_view::npos;
}

}  // namespace rollcall::bootstrap
