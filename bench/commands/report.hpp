/// \file
/// The output of the measured calls of a collective: cells, raw samples and pictures.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/commands/pictures.hpp"
#include "bench/options/sweep.hpp"
#include "bench/results/cell.hpp"
#include "bench/results/competitive_ratio.hpp"
#include "bench/results/measured.hpp"
#include "bench/results/raw.hpp"

namespace rollcall::bench {

class Report {
  public:
    /// Opens the file of raw samples. Throws Error{invalid_argument} if that fails. The sweep must outlive this object.
    Report(const Sweep& sweep, std::ostream& out);
    /// In a sweep of a paper's table, the cell of the base must come before that of the algorithm that is compared with it.
    void add(Measured measured);
    /// Prints the rows that were held back (CompetitivePrinter). All patterns of what was added must have been added.
    void flush() { printer_.flush(); }
    /// Prints the remaining cells and draws the picture, unless there are no cells. Throws Error{state} if a file cannot be written.
    void finish();
    /// Calls `work`, which adds cells, and finishes. If `work` throws, prints the cells that were added, and passes the error on.
    void finish_after(const std::function<void()>& work);

  private:
    /// Keeps the times of the first algorithm of each number of ranks, size, landing and pattern. Returns the comparisons with them. (Calls
    /// of a million ranks are too large to be kept.)
    std::vector<Metric> compare_with_first(const Measured& measured);

    const Sweep& sweep_;
    CompetitivePrinter printer_;
    std::optional<RawWriter> raw_;
    Pictures pictures_;
    bool has_cells_ = false;
    std::vector<CallSample> base_;               ///< The calls of the base of the paper's table.
    std::map<std::string, ElapsedTimes> first_;  ///< By ranks, size, landing, pattern and distribution of sizes.
};

}  // namespace rollcall::bench
