#include "bench/results/csv.hpp"

#include <fmt/format.h>

#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall::bench {

std::string csv_line(const std::vector<std::string>& fields) {
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string& field = fields[i];
        if (field.find_first_of("\r\n") != std::string::npos)
            throw Error(ErrorCode::invalid_argument, "a field of a csv file may not contain a line break");
        if (i > 0) line += ',';
        if (field.find_first_of(",\"") == std::string::npos) {
            line += field;
            continue;
        }
        line += '"';
        for (const char c : field) line += c == '"' ? "\"\"" : std::string(1, c);
        line += '"';
    }
    return line;
}

std::vector<std::string> csv_fields(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
            fields.back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += c;
        }
    }
    if (quoted) throw Error(ErrorCode::invalid_argument, fmt::format("a quote is not closed in the csv line {}", quote(line)));
    return fields;
}

}  // namespace rollcall::bench
