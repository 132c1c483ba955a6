/// \file
/// Results as people and programs read them: rows of named values, written as an aligned table, as CSV, or as JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rollcall::usage {
class Command;
class Option;
}  // namespace rollcall::usage

namespace rollcall::output {

enum class Format { text, csv, json };

/// Adds --format text|csv|json to a command, stored in `format` (whose present value is the default).
usage::Option* add_format_option(usage::Command& command, Format& format);

/// A duration. Text shows it with a unit; CSV and JSON give seconds.
struct Seconds {
    double seconds = 0;
    bool operator==(const Seconds&) const = default;
};

/// A size. Text shows it short ("64Ki", "23.5Gi": exact where that is short); CSV and JSON give bytes.
struct Bytes {
    std::uint64_t bytes = 0;
    bool operator==(const Bytes&) const = default;
};

/// A measured duration with its confidence interval, in seconds. JSON gives {"median", "low", "high"}; CSV makes three
/// columns of it, NAME_median, NAME_low and NAME_high; text shows "12.3 us [12.0 us, 13.1 us]".
struct Interval {
    double median = 0, low = 0, high = 0;
    bool operator==(const Interval&) const = default;
};

/// What stands in a cell: nothing, a truth value, a number, a text, a size, or a duration.
class Value {
  public:
    using Held = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, Seconds, Interval>;

    Value() = default;
    Value(bool value) : held_(value) {}
    template <typename Integer>
    requires std::integral<Integer> &&(!std::same_as<Integer, bool>)Value(Integer value) {
        if constexpr (std::is_signed_v<Integer>) {
            held_ = static_cast<std::int64_t>(value);
        } else {
            held_ = static_cast<std::uint64_t>(value);
        }
    }
    Value(double value) : held_(value) {}
    Value(const char* text) : held_(std::string(text)) {}
    Value(std::string text) : held_(std::move(text)) {}
    Value(std::string_view text) : held_(std::string(text)) {}
    Value(Bytes value) : held_(value) {}
    Value(Seconds value) : held_(value) {}
    Value(Interval value) : held_(value) {}

    const Held& held() const { return held_; }

  private:
    Held held_;
};

/// One row: its columns' names and values. A column that is left out is empty.
using Row = std::vector<std::pair<std::string, Value>>;

/// Writes rows as they come. CSV (RFC 4180 quoting) and JSON (one object per row and line) are written at once; text is
/// aligned, so it is written by finish() or the destructor. The columns and their order are those given here, or those
/// of the first row; a row with another column throws std::invalid_argument in every format. Not for several threads.
class Table {
  public:
    Table(std::ostream& out, Format format, std::vector<std::string> columns = {});
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    void add(const Row& row);
    /// Writes what has not been written. Text leaves out the columns that are empty in every row; a table without rows
    /// writes nothing (CSV: its header, when the columns were given). Later rows begin a new table.
    void finish();

  private:
    void add_csv(const std::vector<const Value*>& cells);
    void add_json(const Row& row);
    void write_text();
    void write_csv_header(const std::vector<const Value*>& cells);

    std::ostream& out_;
    Format format_;
    std::vector<std::string> columns_;
    std::vector<bool> interval_;  ///< CSV: whether a column is three.
    std::vector<std::vector<Value>> text_rows_;
    bool header_written_ = false;
};

}  // namespace rollcall::output
