/// \file
/// One line of comma-separated values (RFC 4180). Fields contain no line breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bench {

/// Joins the fields with commas, and quotes them where necessary. The result has no line end. Throws Error{invalid_argument} if a field
/// contains a line break, because csv_fields() could not read it back.
std::string csv_line(const std::vector<std::string>& fields);

/// Splits a line made by csv_line(). Throws Error{invalid_argument} if a quote is not closed.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace rollcall::bench
