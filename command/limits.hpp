/// \file
/// The limits of the operating system that a job may run into.
#pragma once

#include <string>
#include <vector>

#include "support/output.hpp"

namespace rollcall::command {

struct Limit {
    std::string name;
    output::Value value;
    std::string note;  ///< What needs it.
};

/// As they are now for this process, and what the kernel lets ranks of a node do with each other's memory. What this kernel does not tell is left out.
std::vector<Limit> limits();

}  // namespace rollcall::command
