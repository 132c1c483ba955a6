/// \file
/// Prints results for people and programs: rows of named values, as an aligned table, as CSV, or as JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
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

/// The columns that text may take: of the terminal at standard output, or 100 if that is no terminal. The variable COLUMNS takes
/// precedence, so that programs whose output is passed on can be told.
std::size_t screen_columns();

/// The columns after which text may be broken: those of the screen. There is no limit if standard output is no terminal and COLUMNS is not
/// set, because other programs read such output by lines.
std::size_t columns_before_break();

/// A column whose texts are broken into lines is made narrower than this only if the lines would not fit otherwise.
inline constexpr std::size_t kNarrowest = 24;

/// Breaks the text at blanks into lines of at most so many columns. A longer word is a line of its own.
std::vector<std::string> broken(const std::string& text, std::size_t columns);

/// Adds --format text|csv|json to a command. The value is stored in `format`, whose present value is the default.
usage::Option* add_format_option(usage::Command& command, Format& format);

/// A duration. Text shows it with a unit. CSV and JSON contain seconds.
struct Seconds {
    double seconds = 0;
    bool operator==(const Seconds&) const = default;
};

/// A size. Text shows it in short form ("64Ki", "23.5Gi"), which is exact if the exact form is short. CSV and JSON contain bytes.
struct Bytes {
    std::uint64_t bytes = 0;
    bool operator==(const Bytes&) const = default;
};

/// A measured duration with its confidence interval, in seconds. JSON contains {"median", "low", "high"}. CSV has three columns for it:
/// NAME_median, NAME_low and NAME_high. If the number is a mean, they say "mean" instead of "median". Text shows "12.3 us [12.0 us, 13.1
/// us]".
struct Interval {
    double median = 0, low = 0, high = 0;
    bool is_mean = false;
    bool operator==(const Interval&) const = default;
};

/// The content of a table cell: nothing, a truth value, a number, a text, a size, or a duration.
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

/// One row: the names and values of its columns. A column that is missing is empty.
using Row = std::vector<std::pair<std::string, Value>>;

/// Writes rows as they come. CSV (quoted by RFC 4180) and JSON (one object for each row, on a line) are written at once. Text is aligned,
/// so finish() or the destructor writes it. The columns and their order are those given to the constructor, or those of the first row. In
/// every format, a row with another column throws std::invalid_argument. Not thread-safe.
class Table {
  public:
    Table(std::ostream& out, Format format, std::vector<std::string> columns = {});
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    void add(const Row& row);
    /// Text only: if the lines are longer than `columns`, leaves out these columns one after the other until the lines fit. A last line
    /// names them.
    void fit(std::size_t columns, std::vector<std::string> least_important_first);
    /// Text only: if the lines are longer than `columns`, narrows the widest columns of text, and breaks their texts at blanks. Words stay
    /// whole.
    void break_after(std::size_t columns) { longest_ = columns; }
    /// Writes the rows that have not been written. Text leaves out the columns that are empty in every row. A table without rows writes
    /// nothing, except that CSV writes its header if the columns were given. Later rows begin a new table.
    void finish();

  private:
    void add_csv(const std::vector<const Value*>& cells);
    void add_json(const Row& row);
    struct Column;
    std::vector<Column> columns_of(const std::vector<std::vector<std::string>>& texts) const;
    std::string shorten(std::vector<Column>& columns) const;
    void write_row(const std::vector<Column>& columns, const std::vector<std::string>& cells);
    void write_text();
    void write_csv_header(const std::vector<const Value*>& cells);

    std::ostream& out_;
    Format format_;
    std::vector<std::string> columns_;
    std::vector<bool> interval_;  ///< CSV: whether a column is written as three columns.
    std::vector<std::vector<Value>> text_rows_;
    std::size_t screen_ = std::numeric_limits<std::size_t>::max(), longest_ = screen_;
    std::vector<std::string> least_important_first_;
    bool header_written_ = false;
};

}  // namespace rollcall::output
