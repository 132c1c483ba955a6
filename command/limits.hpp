/// \file
/// The limits of the operating system that may affect a job.
#pragma once

#include <string>
#include <vector>

#include "foundation/settings.hpp"
#include "support/output.hpp"

namespace rollcall::command {

struct Limit {
    std::string name;
    output::Value value;
    std::string note;  ///< What needs it.
};

/// Returns the present limits of this process, and what the system lets the ranks of a job with these settings do with each other's memory.
/// Leaves out what this kernel does not report.
std::vector<Limit> limits(const Settings& settings);

}  // namespace rollcall::command
