/// \file
/// The work of one rank in a benchmark of a collective operation: it measures every cell, and rank 0 collects what all have measured.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <rollcall/rollcall.hpp>

#include "bench/commands/agenda.hpp"
#include "bench/ranks/start.hpp"
#include "bench/results/measured.hpp"

namespace rollcall::bench {

/// Notes in which cells differ that have the same identity: the distribution of the blocks' sizes, and the two groups.
void add_notes(Measured& measured, const Sweep& sweep, std::optional<SizeDistribution> distribution);

/// Removes the algorithms that cannot run here, such as those in node memory if the ranks do not share memory. What the user has named
/// stays, and fails.
void leave_out_impossible(Sweep& sweep, const Communicator& world);

/// Measures all cells. At rank 0, calls `use` with all cells of a size and of a distribution, once they have been measured. Collective.
/// Aborts the job if a call has given a wrong result.
void measure_as_rank(Job& job, const Agenda& agenda, const Inherited& inherited, const std::function<void(std::vector<Measured>)>& use);

}  // namespace rollcall::bench
