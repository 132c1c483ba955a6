/// \file
/// Benchmarks that compare: jobs of our own and runs of peers in turn, round by round, so that what the machine does
/// meanwhile, and where processes happen to be placed, concerns all of them alike.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cell.hpp"
#include "bench/start.hpp"

namespace rollcall::bench {

/// A way to move bytes that a job is started with.
struct TransportChoice {
    std::string name;
    std::vector<std::string> environment;  ///< K=V
};
/// "default,shm,tcp". Inside a job only "default" is allowed: its ranks are there already. Throws
/// Error{invalid_argument}.
std::vector<TransportChoice> parse_transports(std::string_view text);
/// For `--help`.
inline constexpr const char* kTransportHelp = "Transports, separated by commas: default; shm (UCX_TLS=posix,self); tcp (UCX_TLS=tcp,self)";

/// Samples of one competitor: a list for each round.
using Rounds = std::vector<std::vector<double>>;

/// All samples of all rounds.
std::vector<double> together(const Rounds& rounds);
/// For each round the median of the one over the median of the other.
std::vector<double> ratios(const Rounds& numerator, const Rounds& denominator);

/// A cell like those of collectives, whose run_time is what was measured and whose other times are not defined.
Cell plain_cell(CellIdentity identity, std::span<const double> run_time);
/// A metric that is not defined for this cell.
Metric undefined(std::string name, Unit unit);

}  // namespace rollcall::bench
