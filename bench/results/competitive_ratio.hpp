/// \file
/// How bad an algorithm becomes under the worst of several arrival patterns.
#pragma once

#include <iosfwd>
#include <span>
#include <vector>

#include "bench/results/cell.hpp"

namespace rollcall::bench {

/// Adds the metric competitive_ratio behind performance_ratio to each cell that has the latter: the largest performance_ratio of the cells
/// that have the same algorithm, transport, number of ranks, size, model, landing and distribution of block sizes, whatever their patterns
/// are. This is PERF(r, Γ) of Patarasuk and Yuan (section 2.2), where Γ are these patterns. The paper's competitive ratio is that of all
/// patterns that there can be, so it is at least as large. The interval is that of the worst pattern. Undefined ratios do not count.
/// `in_table`: whether text shows it.
void add_competitive_ratios(std::span<Cell> cells, bool in_table);

/// Prints cells, each with its competitive_ratio. It is known when all cells of a number of ranks and a size have been added, so they are
/// printed together: when the next number or size comes, or when flush() says that none is missing. Cells without a performance_ratio are
/// printed at once.
class CompetitivePrinter {
  public:
    /// `several_patterns`: without it the text does not show competitive_ratio, which equals performance_ratio.
    CompetitivePrinter(std::ostream& out, output::Format format, bool several_patterns)
        : printer_(out, format), several_patterns_(several_patterns) {}
    void add(Cell cell);
    /// Prints the cells that were held back. All with which they are compared must have been added.
    void flush() { print_held(false); }
    /// Prints the remaining cells. Must be called once. `interrupted`: patterns may be missing, so the cells that were held back are
    /// printed without the ratio that compares patterns.
    void finish(bool interrupted = false);

  private:
    void print_held(bool interrupted);

    CellPrinter printer_;
    bool several_patterns_;
    std::vector<Cell> held_;  ///< All of one number of ranks and one size.
};

}  // namespace rollcall::bench
