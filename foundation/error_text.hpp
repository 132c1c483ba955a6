/// \file
/// What the numbers in errno mean.
#pragma once

#include <string>

namespace rollcall::inline foundation {

/// For example "No such file or directory". Thread-safe, which std::strerror() need not be.
std::string error_text(int error);

}  // namespace rollcall::inline foundation
