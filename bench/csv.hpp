/// \file
/// One line of comma-separated values (RFC 4180), without line breaks inside fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bench {

/// The fields joined by commas, quoted where they must be; no line end. Throws Error{invalid_argument} when a field
/// holds a line break, which a reader of lines could not take back.
std::string csv_line(const std::vector<std::string>& fields);

/// The inverse. Throws Error{invalid_argument} for a quote that is not closed.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace rollcall::bench
