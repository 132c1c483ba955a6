/// \file
/// `rollcall info --algorithms`: the catalogue of collective algorithms.
#pragma once

#include "support/output.hpp"

namespace rollcall::command {

/// Prints every algorithm on standard output, one row for each.
void print_algorithms(output::Format format);

}  // namespace rollcall::command
