/// \file
/// `rollcall info --explain OPERATION`: which algorithm calls of an operation take, and why.
#pragma once

#include <string>

#include "support/output.hpp"

namespace rollcall::command {

/// What the options say. `sizes` in bytes and `ranks` are lists separated by commas.
struct Explained {
    std::string operation, sizes = "8,64Ki,1Mi", ranks = "8";
};

/// Prints a row for each size, number of ranks and place of the ranks (one node, several nodes), under the settings of the environment. A
/// place that cannot have this number of ranks (ROLLCALL_NODE_RANKS) is left out.
/// Throws Error{invalid_argument} if there is no such operation, or if a list is wrong.
void explain(const Explained& asked, output::Format format);

}  // namespace rollcall::command
