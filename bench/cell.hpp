/// \file
/// One result cell of the benchmark, and how cells are printed.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rollcall/time.hpp>

#include "bench/metrics.hpp"
#include "bench/statistics.hpp"
#include "support/output.hpp"

namespace rollcall::bench {

/// What was measured. The same for every operation: for pingpong, overlap and idle, `algorithm` is the variant.
struct CellIdentity {
    std::string operation;
    std::string algorithm;
    std::string transport;
    int ranks = 0;
    std::uint64_t bytes = 0;
    std::string pattern = "balanced";
    std::uint64_t iterations = 0;  ///< Calls that were measured, without warm-up.

    bool operator==(const CellIdentity&) const = default;
};

/// How the text table writes a number. Files always hold seconds, bytes per second, or the plain ratio.
enum class Unit { seconds, ratio, bytes_per_second };

struct Metric {
    std::string name;  ///< The key in json and the beginning of the column names in csv.
    Unit unit = Unit::seconds;
    Estimate value;
    bool in_table = true;  ///< False: only in csv and json.
};

/// One row of results: identity, metrics in the order in which they are printed, and notes ("model": "blocking").
/// All cells that go through one printer have the same metrics and notes, so that there are columns.
struct Cell {
    CellIdentity identity;
    std::vector<Metric> metrics;
    std::vector<std::pair<std::string, std::string>> notes = {};
};

/// The time of what did not happen.
inline constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::min();

/// One measured call of a collective, all ranks together. Times of one clock.
struct CallSample {
    std::uint64_t iteration = 0;
    Nanoseconds start = 0;              ///< The common start that delays count from.
    std::vector<Nanoseconds> asked;     ///< The pattern's delay of each rank.
    std::vector<Nanoseconds> arrivals;  ///< a_i
    std::vector<Nanoseconds> exits;     ///< f_i
    /// When each rank had its first data of another, and when it had last predicted to arrive; or kNoTime. Empty: of none.
    std::vector<Nanoseconds> first_data = {}, predicted = {};

    bool operator==(const CallSample&) const = default;
};

/// The cell of a collective: medians over its calls of run_time, mean_elapsed, worst_elapsed, last_delay, spread,
/// imbalance_factor, competitive_ratio, pattern_error (the largest of a call), and in csv and json also mean_deviation,
/// average_imbalance_factor, lower_bound, pattern_error_rms and message_time; the model is a note. The bound, and with it
/// the ratio, is of broadcasts: other operations have neither.
/// `iterations` becomes the number of samples. Throws Error{invalid_argument} without samples, or when one does not
/// have a time for each of identity.ranks ranks.
Cell collective_cell(CellIdentity identity, const CallSetup& setup, std::span<const CallSample> samples);

/// A metric from one number per iteration: `collective_cell` for what is not a collective (pingpong, overlap, idle).
Metric metric(std::string name, Unit unit, std::span<const double> samples, bool in_table = true);

/// The median over the calls of a call's median distance |predicted - arrived| over its ranks; not defined if a call has
/// no predictions.
Metric prediction_error(std::span<const CallSample> samples);

/// Prints cells: json and csv at once, a line per cell; text as one aligned table when finish() is called, under a
/// heading with what is the same in all rows. In text, a number is the median in a unit that suits it, and behind ± the
/// larger half of its 95 % interval relative to the median. A number that is not defined (NaN) is `-` in text, empty in
/// csv, and null in json.
class CellPrinter {
  public:
    CellPrinter(std::ostream& out, output::Format format);
    /// Throws std::invalid_argument when the cell has a metric or note that the first cell has not.
    void add(const Cell& cell);
    /// Prints what is left; to be called once.
    void finish();

  private:
    std::ostream& out_;
    output::Format format_;
    output::Table table_;
    std::vector<output::Row> rows_;  // text: kept until all are known
};

}  // namespace rollcall::bench
