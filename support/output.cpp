#include "support/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::output {
namespace {

template <typename... Functions>
struct Overload : Functions... {
    using Functions::operator()...;
};
template <typename... Functions>
Overload(Functions...) -> Overload<Functions...>;

/// Returns the number as a text that can be read back exactly, or an empty text if the number is not finite.
std::string exact(double number) { return std::isfinite(number) ? fmt::format("{}", number) : std::string(); }

std::string short_size(std::uint64_t bytes) {
    constexpr std::size_t kShort = 6;  // "1023Ti"
    if (auto text = format_bytes(bytes); text.size() <= kShort) return text;
    static constexpr std::array kUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    constexpr double kStep = 1024;
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    // 1023.95 would be printed as 1024.0. The next unit is used instead.
    while (value >= kStep - 0.05 && unit + 1 < kUnits.size()) {
        value /= kStep;
        ++unit;
    }
    return fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::string as_text(const Value& value) {
    return std::visit(
        Overload{[](std::monostate) { return std::string(); }, [](bool truth) { return std::string(truth ? "yes" : "no"); },
                 [](std::int64_t number) { return fmt::to_string(number); }, [](std::uint64_t number) { return fmt::to_string(number); },
                 [](double number) { return std::isfinite(number) ? fmt::format("{:.4g}", number) : std::string("-"); },
                 [](const std::string& text) { return text; }, [](Bytes size) { return short_size(size.bytes); },
                 [](Seconds duration) { return format_duration(duration.seconds); },
                 [](const Interval& interval) {
                     return fmt::format("{} [{}, {}]", format_duration(interval.median), format_duration(interval.low),
                                        format_duration(interval.high));
                 }},
        value.held());
}

bool is_number(const Value& value) {
    return std::visit(Overload{[](std::monostate) { return false; }, [](bool) { return false; }, [](const std::string&) { return false; },
                               [](const auto&) { return true; }},
                      value.held());
}

std::string csv_quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string as_csv(const Value& value) {
    return std::visit(
        Overload{[](bool truth) { return std::string(truth ? "true" : "false"); }, [](double number) { return exact(number); },
                 [](const std::string& text) { return csv_quoted(text); }, [](Bytes size) { return fmt::to_string(size.bytes); },
                 [](Seconds duration) { return exact(duration.seconds); },
                 [](const Interval& interval) {
                     return fmt::format("{},{},{}", exact(interval.median), exact(interval.low), exact(interval.high));
                 },
                 [&](const auto&) { return as_text(value); }},
        value.held());
}

using Json = nlohmann::ordered_json;

Json as_json(const Value& value) {
    return std::visit(
        Overload{[](std::monostate) { return Json(); }, [](Bytes size) { return Json(size.bytes); },
                 [](Seconds duration) { return Json(duration.seconds); },
                 [](const Interval& interval) {
                     return Json{{interval.is_mean ? "mean" : "median", interval.median}, {"low", interval.low}, {"high", interval.high}};
                 },
                 [](const auto& plain) { return Json(plain); }},
        value.held());
}

/// The blanks between two columns.
constexpr std::size_t kGap = 2;

/// The width in columns of a screen. Counts code points, which is right for the few symbols printed here.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

constexpr std::size_t kFewestColumns = 40, kNoTerminal = 100, kUnknownTerminal = 80;

std::size_t longest_word(std::string_view text) {
    std::size_t longest = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t blank = std::min(text.find(' ', at), text.size());
        longest = std::max(longest, width(text.substr(at, blank - at)));
        at = blank + 1;
    }
    return longest;
}

}  // namespace

std::vector<std::string> broken(const std::string& text, std::size_t columns) {
    if (width(text) <= columns) return {text};
    std::vector<std::string> lines(1);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t blank = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, blank - at);
        if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > columns) lines.emplace_back();
        lines.back() += (lines.back().empty() ? "" : " ") + word;
        at = blank + 1;
    }
    return lines;
}

std::size_t columns_before_break() {
    if (std::getenv("COLUMNS") == nullptr && ::isatty(STDOUT_FILENO) != 1) return std::numeric_limits<std::size_t>::max();
    return screen_columns();
}

std::size_t screen_columns() {
    if (const char* const text = std::getenv("COLUMNS"))
        if (const auto columns = std::strtoul(text, nullptr, 10); columns >= kFewestColumns) return columns;
    if (::isatty(STDOUT_FILENO) != 1) return kNoTerminal;
    winsize size{};
    const bool is_told = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_told ? std::max<std::size_t>(size.ws_col, kFewestColumns) : kUnknownTerminal;
}

usage::Option* add_format_option(usage::Command& command, Format& format) {
    static const std::map<std::string, Format> kFormats = {{"text", Format::text}, {"csv", Format::csv}, {"json", Format::json}};
    const auto read = [&format](const std::string& word) { format = kFormats.at(word); };
    const auto present = std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& entry) { return entry.second == format; });
    const auto check = [](const std::string& word) {
        return kFormats.contains(word) ? std::string() : fmt::format("'{}' is not a format; allowed: text, csv, json", word);
    };
    return command.add_option("--format", read, "How results are printed")
        ->check(check)
        ->default_str(present->first)
        ->type_name("text|csv|json");
}

Table::Table(std::ostream& out, Format format, std::vector<std::string> columns)
    : out_(out), format_(format), columns_(std::move(columns)) {}

Table::~Table() {
    try {
        finish();
    } catch (...) {  // NOLINT: a destructor must not throw; a caller that needs the error calls finish()
    }
}

void Table::add(const Row& row) {
    if (columns_.empty()) {
        for (const auto& [column, value] : row) columns_.push_back(column);
    }
    static const Value kEmpty;
    std::vector<const Value*> cells(columns_.size(), &kEmpty);
    for (const auto& [column, value] : row) {
        const auto found = std::find(columns_.begin(), columns_.end(), column);
        if (found == columns_.end()) throw std::invalid_argument(fmt::format("this table has no column '{}'", column));
        cells[static_cast<std::size_t>(found - columns_.begin())] = &value;
    }
    switch (format_) {
        case Format::text:
            text_rows_.emplace_back();
            for (const auto* cell : cells) text_rows_.back().push_back(*cell);
            break;
        case Format::csv: add_csv(cells); break;
        case Format::json: add_json(row); break;
    }
}

void Table::write_csv_header(const std::vector<const Value*>& cells) {
    interval_.assign(columns_.size(), false);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        interval_[i] = i < cells.size() && std::holds_alternative<Interval>(cells[i]->held());
        const auto& column = columns_[i];
        out_ << (i == 0 ? "" : ",");
        if (interval_[i]) {
            const bool is_mean = std::get<Interval>(cells[i]->held()).is_mean;
            for (const char* part : {is_mean ? "_mean," : "_median,", "_low,", "_high"}) {
                std::string name = column + part;
                const bool more = name.ends_with(',');
                if (more) name.pop_back();
                out_ << csv_quoted(name) << (more ? "," : "");
            }
        } else {
            out_ << csv_quoted(column);
        }
    }
    out_ << '\n';
    header_written_ = true;
}

void Table::add_csv(const std::vector<const Value*>& cells) {
    if (!header_written_) write_csv_header(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool is_interval = std::holds_alternative<Interval>(cells[i]->held());
        const bool is_empty = std::holds_alternative<std::monostate>(cells[i]->held());
        if (is_interval != interval_[i] && !is_empty) {
            throw std::invalid_argument(fmt::format("column '{}' has an interval in some rows only", columns_[i]));
        }
        out_ << (i == 0 ? "" : ",") << (interval_[i] && is_empty ? ",," : as_csv(*cells[i]));
    }
    out_ << '\n';
    out_.flush();
}

void Table::add_json(const Row& row) {
    Json object = Json::object();
    for (const auto& [column, value] : row) object[column] = as_json(value);
    // Host names and variables may contain any bytes. Bytes that are not UTF-8 are replaced, not refused.
    out_ << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    out_.flush();
}

void Table::fit(std::size_t columns, std::vector<std::string> least_important_first) {
    screen_ = columns;
    least_important_first_ = std::move(least_important_first);
}

/// A column of a table in text form.
struct Table::Column {
    std::size_t index;
    std::size_t width;
    bool right;  ///< Numbers are aligned at their last digit.
    std::size_t least_width = 0;
};

/// The columns that are not empty, as wide as their contents.
std::vector<Table::Column> Table::columns_of(const std::vector<std::vector<std::string>>& texts) const {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        Column column{.index = i, .width = width(columns_[i]), .right = true};
        column.least_width = column.width;
        bool empty = true;
        for (std::size_t r = 0; r < texts.size(); ++r) {
            column.width = std::max(column.width, width(texts[r][i]));
            column.least_width = std::max(column.least_width, longest_word(texts[r][i]));
            empty = empty && texts[r][i].empty();
            column.right = column.right && (texts[r][i].empty() || is_number(text_rows_[r][i]));
        }
        if (!empty) columns.push_back(column);
    }
    return columns;
}

/// Leaves out columns, and then makes some narrower, until a line is short enough. Returns the names of those that are left out.
std::string Table::shorten(std::vector<Column>& columns) const {
    const auto length = [&] {
        std::size_t sum = 0;
        for (const Column& column : columns) sum += column.width + (sum > 0 ? kGap : 0);
        return sum;
    };
    std::string left_out;
    for (const std::string& name : least_important_first_) {
        if (length() <= screen_) break;
        if (std::erase_if(columns, [&](const Column& column) { return columns_[column.index] == name; }) > 0)
            left_out += (left_out.empty() ? "" : ", ") + name;
    }
    for (const std::size_t narrowest : {kNarrowest, std::size_t{0}})
        while (length() > longest_) {
            Column* widest = nullptr;
            for (Column& column : columns)
                if (!column.right && column.width > std::max(column.least_width, narrowest) && (!widest || column.width > widest->width))
                    widest = &column;
            if (!widest) break;
            --widest->width;
        }
    return left_out;
}

/// Writes a row, in several lines if a cell is wider than its column.
void Table::write_row(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> lines_of;
    std::size_t lines = 0;
    for (const Column& column : columns) {
        lines_of.push_back(broken(cells[column.index], column.width));
        lines = std::max(lines, lines_of.back().size());
    }
    for (std::size_t i = 0; i < lines; ++i) {
        std::string line;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const std::string cell = i < lines_of[c].size() ? lines_of[c][i] : "";
            const std::string padding(columns[c].width - width(cell), ' ');
            line += columns[c].right ? padding + cell : cell + padding;
            line.append(kGap, ' ');
        }
        line.resize(line.find_last_not_of(' ') + 1);
        out_ << line << '\n';
    }
}

void Table::write_text() {
    if (text_rows_.empty()) return;
    std::vector<std::vector<std::string>> texts;
    for (const auto& row : text_rows_) {
        auto& line = texts.emplace_back();
        for (const auto& cell : row) line.push_back(as_text(cell));
    }
    std::vector<Column> columns = columns_of(texts);
    const std::string left_out = shorten(columns);
    write_row(columns, columns_);
    for (const auto& line : texts) write_row(columns, line);
    if (!left_out.empty())
        for (const std::string& line : broken("columns not shown (use --format csv or json): " + left_out, screen_)) out_ << line << '\n';
    text_rows_.clear();
}

void Table::finish() {
    if (format_ == Format::text) write_text();
    if (format_ == Format::csv && !header_written_ && !columns_.empty()) write_csv_header({});
    out_.flush();
}

}  // namespace rollcall::output
