/// \file
/// What the numbers in errno mean.
#pragma once

#include <string>

#include "foundation/error_text.hpp"

namespace rollcall::inline foundation {

/// For example "No such file or directory". Thread-safe, which error_text() need not be.
std::string error_text(int error);

}  // namespace rollcall::inline foundation
