/// \file
/// Numbers in rows that are no cells.
#pragma once

#include <string>

#include "support/output.hpp"

namespace rollcall::bench {

/// A number for which text has a form of its own, such as so many digits. CSV and JSON have the number itself.
inline output::Value number_or_text(output::Format format, double number, const std::string& text) {
    return format == output::Format::text ? output::Value(text) : output::Value(number);
}

}  // namespace rollcall::bench
