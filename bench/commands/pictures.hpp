/// \file
/// What is drawn of the measured calls of a collective.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/options/sweep.hpp"
#include "bench/plots/plot.hpp"
#include "bench/results/cell.hpp"
#include "bench/results/measured.hpp"

namespace rollcall::bench {

class Pictures {
  public:
    /// The sweep must outlive this object.
    explicit Pictures(const Sweep& sweep);
    /// Adds the calls of a cell, and the cell that was made of them.
    void add(const Measured& measured, const Cell& cell);

    /// Returns the charts, all of mean elapsed times: against the imbalance of several patterns; against several sizes and against several
    /// numbers of ranks, for the first pattern and for the one with the widest spread; or bars, if there is one of each. Below them is one
    /// call of each algorithm that the user has named, or of the fastest ones, with the same delays. What a chart does not compare is the
    /// largest size and the largest number of ranks. Requires that something was added.
    Picture picture() const;

  private:
    struct Drawn {
        std::string line;  ///< The name in the legend.
        int ranks;
        std::uint64_t bytes;
        std::string pattern;
        double spread, imbalance;
        Estimate elapsed;
    };
    /// `place` returns where on the x axis a cell stands. No number: the chart does not show the cell.
    LineChart chart(std::string title, Axis x, const std::function<std::optional<double>(const Drawn&)>& place) const;
    LineChart against_imbalance(bool has_patterns) const;
    LineChart against_size(const std::string& pattern) const;
    LineChart against_ranks(const std::string& pattern) const;
    void add_calls(Picture& picture) const;
    std::set<int> numbers_of_ranks() const;
    /// The pattern with the widest spread.
    std::string widest() const;

    const Sweep& sweep_;
    std::uint64_t largest_;  ///< The largest size. Only calls of this size and of most_ranks_ are drawn one by one.
    int most_ranks_ = 0;     ///< The largest number of ranks that was added.
    bool has_message_time_ = false;
    std::vector<Drawn> drawn_;
    std::vector<std::pair<std::string, Measured>> calls_;  ///< By line, of the largest size and number of ranks.
};

/// One call. A rank waits while no data moves: the root of an operation that collects, such as a gather, from its arrival on, but for one
/// message time after each arrival of another rank, and after the last of these.
GanttChart gantt_of(const Measured& measured, const CallSample& call);

}  // namespace rollcall::bench
