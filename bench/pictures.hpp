/// \file
/// What is drawn of the measured calls of a collective.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/cell.hpp"
#include "bench/measured.hpp"
#include "bench/plot.hpp"
#include "bench/sweep.hpp"

namespace rollcall::bench {

class Pictures {
  public:
    /// The sweep must outlive this object.
    explicit Pictures(const Sweep& sweep);
    /// Adds the calls of a cell, and the cell that was made of them.
    void add(const Measured& measured, const Cell& cell);

    /// Returns the charts, all of mean elapsed times: against the imbalance of several patterns, for the largest size; against several
    /// sizes, for the first pattern and for the one with the widest spread; or bars, if there is one pattern and one size. Below them is
    /// one call for each of the fastest algorithms, with the same delays. Requires that something was added.
    Picture picture() const;

  private:
    struct Drawn {
        std::string line;  ///< The name in the legend.
        std::uint64_t bytes;
        std::string pattern;
        double spread, imbalance;
        Estimate elapsed;
    };
    LineChart chart(std::string title, const Axis& x) const;
    LineChart against_imbalance(bool has_patterns) const;
    LineChart against_size(const std::string& pattern) const;
    void add_calls(Picture& picture) const;
    /// The pattern with the widest spread.
    std::string widest() const;

    const Sweep& sweep_;
    std::uint64_t largest_;  ///< The largest size. Only calls of this size are drawn one by one.
    bool has_message_time_ = false;
    std::vector<Drawn> drawn_;
    std::map<std::string, Model> models_;                  ///< The first model of each algorithm.
    std::vector<std::pair<std::string, Measured>> calls_;  ///< By line, of the largest size.
};

/// One call. A rank waits while no data moves: the root of an operation that collects, such as a gather, from its arrival on, but for one
/// message time after each arrival of another rank, and after the last of these.
GanttChart gantt_of(const Measured& measured, const CallSample& call);

}  // namespace rollcall::bench
