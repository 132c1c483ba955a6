/// \file
/// What becomes of the measured calls of a collective: cells, raw samples, pictures.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cell.hpp"
#include "bench/plot.hpp"
#include "bench/raw.hpp"
#include "bench/sweep.hpp"

namespace rollcall::bench {

/// One call, and when each rank had its first data of another (0: never).
struct Call {
    CallSample times;
    std::vector<Nanoseconds> first_data;
};

/// All calls of one cell.
struct Measured {
    CellIdentity identity;
    CallSetup setup;
    std::vector<Call> calls;
    std::vector<std::pair<std::string, std::string>> notes = {};
};

class Report {
  public:
    /// Opens the file of raw samples. Throws Error{invalid_argument} when that fails.
    Report(const Sweep& sweep, std::ostream& out);
    void add(const Measured& measured);
    /// Prints what is left and draws. Throws Error{state} when a file cannot be written.
    void finish();

  private:
    void keep_for_plot(const Measured& measured, const Cell& cell);

    std::string plot_;
    std::uint64_t plotted_bytes_;  ///< The largest size.
    CellPrinter printer_;
    std::optional<RawWriter> raw_;
    LineChart lines_;
    GanttChart gantt_;
    double gantt_spread_ = -1;
    bool gantt_knows_arrivals_ = false;
    std::string gantt_algorithm_;
};

}  // namespace rollcall::bench
