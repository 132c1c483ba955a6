/// \file
/// One result cell of a benchmark, and how cells are printed.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rollcall/time.hpp>

#include "bench/results/metrics.hpp"
#include "bench/results/statistics.hpp"
#include "support/output.hpp"

namespace rollcall::bench {

/// What was measured. All operations use this structure. For pingpong, overlap and idle, `algorithm` is the variant.
struct CellIdentity {
    std::string operation;
    std::string algorithm;
    std::string transport;
    int ranks = 0;
    std::uint64_t bytes = 0;
    std::string pattern = "balanced";
    std::uint64_t iterations = 0;  ///< Measured calls, without warm-up.

    bool operator==(const CellIdentity&) const = default;
};

/// The unit in which the text table shows a number. Files always contain seconds, bytes per second, events per second, or the plain ratio.
enum class Unit { seconds, ratio, bytes_per_second, per_second };

struct Metric {
    std::string name;  ///< The key in JSON, and the beginning of the column names in CSV.
    Unit unit = Unit::seconds;
    Estimate value;
    bool in_table = true;  ///< False: only in CSV and JSON.
    bool is_mean = false;  ///< `value` has a mean in the place of the median.
};

/// One row of results: the identity, the metrics in the order in which they are printed, and notes ("model": "blocking"). All cells that
/// one printer prints must have the same metrics and notes, because these are the columns.
struct Cell {
    CellIdentity identity;
    std::vector<Metric> metrics;
    std::vector<std::pair<std::string, std::string>> notes = {};
};

/// The time of an event that did not happen.
inline constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::min();

/// One measured call of a collective, for all ranks. All times come from one clock.
struct CallSample {
    std::uint64_t iteration = 0;
    Nanoseconds start = 0;              ///< The common start, to which the delays are added.
    std::vector<Nanoseconds> asked;     ///< The delay of each rank, as the pattern gives it.
    std::vector<Nanoseconds> arrivals;  ///< a_i, the arrival of each rank.
    std::vector<Nanoseconds> exits;     ///< f_i, the exit of each rank.
    /// For each rank: when it first took data of another rank, and when it last predicted to arrive; or kNoTime. Empty: no rank has such a
    /// time.
    std::vector<Nanoseconds> first_data = {}, predicted = {};
    /// T in the job of this call. Empty: that of the cell. Each job measures T, and several jobs may measure a cell.
    std::optional<Nanoseconds> message_time = {};

    bool operator==(const CallSample&) const = default;
};
inline Nanoseconds message_time_of(const CallSample& call, const CallSetup& setup) {
    return call.message_time.value_or(setup.message_time);
}

/// Makes the cell of a collective. It contains the medians, over all calls, of run_time, mean_elapsed, worst_elapsed, last_delay, spread,
/// imbalance_factor, performance_ratio, and pattern_error (the largest one of each call), and the mean of mean_elapsed over all calls
/// (`elapsed`). In CSV and JSON it also contains mean_deviation, average_imbalance_factor, lower_bound, pattern_error_rms and message_time
/// (the median of the calls' T).
/// The model is a note, and so is the landing, if there are several. The bound, and with it the ratio, is defined only for broadcasts.
/// `iterations` becomes the number of samples. Throws Error{invalid_argument} if there are no samples, or if one does not have a time for
/// each of identity.ranks ranks.
Cell collective_cell(CellIdentity identity, const CallSetup& setup, std::span<const CallSample> samples);

/// Where explanations of a choice of `auto` go: to standard error, if a program reads the rows.
std::ostream& explanations(output::Format format);

/// Makes a metric from one number for each iteration. Used for benchmarks that measure no collective (pingpong, overlap, idle).
Metric metric(std::string name, Unit unit, std::span<const double> samples, bool in_table = true);

/// Makes a metric from one number, which has no interval.
Metric constant(std::string name, Unit unit, double value, bool in_table = true);
/// Makes a metric that is not defined for this cell.
Metric undefined(std::string name, Unit unit);

/// For each call, takes the median of
/// predicted - arrived
/// over those of its ranks that predicted; the metric is the median of these over the calls that have a prediction. It is not defined if no
/// call has one.
Metric prediction_error(std::span<const CallSample> samples);
/// Counts the calls in which no rank predicted.
std::size_t unpredicted_calls(std::span<const CallSample> samples);

/// The mean elapsed time of each call of a cell, by the number of its iteration.
using ElapsedTimes = std::map<std::uint64_t, double>;
ElapsedTimes elapsed_times(std::span<const CallSample> calls, const CallSetup& setup);

/// Compares with calls of another algorithm, in pairs of the same iteration, whose delays were the same. over_first is the median of
/// mean_elapsed divided by that of the other call. elapsed_over_first is the quotient of the means over these calls. They are not defined
/// if no iteration is in both.
std::vector<Metric> comparisons(const ElapsedTimes& times, const ElapsedTimes& first);

/// Prints cells. CSV and JSON are printed at once, one line for each cell. Text is printed as one aligned table by finish(). Its heading
/// contains what all rows have in common. In text, a number is shown as the median, in a suitable unit, followed by ± and the larger half
/// of its 95 % interval relative to the median; or by both ends of the interval, if that half is larger than the median. Columns that do
/// not fit the screen are left out, the least important ones first. An undefined number (NaN) is `-` in text, empty in CSV, and null in
/// JSON.
class CellPrinter {
  public:
    /// `columns`: how many characters of text fit on a line.
    CellPrinter(std::ostream& out, output::Format format, std::size_t columns = output::screen_columns());
    /// Throws std::invalid_argument if the cell has a metric or note that the first cell does not have.
    void add(const Cell& cell);
    /// Prints the remaining cells. Must be called once.
    void finish();

  private:
    std::ostream& out_;
    output::Format format_;
    std::size_t columns_;
    output::Table table_;
    std::vector<output::Row> rows_;  // text: kept until finish()
};

}  // namespace rollcall::bench
