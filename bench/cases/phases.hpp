/// \file
/// Compute phases before the calls of a plan (Proficz 2020, fig. 13): how long they take, and when the ranks report that half is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/plan.hpp>
#include <rollcall/time.hpp>

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// The options as the user gave them.
struct PhaseWords {
    std::optional<std::string> compute, predictor, noise;
    bool no_edge = false;
};
/// Adds --compute, --predictor, --no-edge and --prediction-noise.
void add_phase_options(usage::Command& command, PhaseWords& words);

struct Phases {
    /// A rank that is to come x late computes for 2 * (compute + x/2). So all phases have the same length, apart from the delays.
    Nanoseconds compute = 0;
    std::string compute_text = "0";  ///< As the user gave it.
    Predictor predictor = Predictor::edge_linear;
    bool edge = true;  ///< Whether ranks report the middle of the phase.
    /// The middle is reported when actually (1 + e)/2 of the phase is over. e is normally distributed with this deviation, in percent, and
    /// limited to -1 and 1. So a prediction from the report is wrong by e times the phase.
    double noise_percent = 0;

    /// Notes that say how a cell was measured.
    std::vector<std::pair<std::string, std::string>> notes() const;
};
inline constexpr const char* kNoCompute = "off";
/// Checks the options. Returns nothing for calls without phases. `compute` is the value if the user gave none. Throws
/// Error{invalid_argument} that lists what is allowed. It also throws if --predictor or another of these options is given without
/// --compute.
std::optional<Phases> checked(const PhaseWords& words, const std::string& compute = kNoCompute);

/// The fraction that ranks report.
inline constexpr double kEdge = 0.5;

/// Selects the error that is drawn. Like the delays, it is the same for all algorithms.
std::uint64_t noise_key(std::uint64_t seed, std::uint64_t iteration, int rank);

/// One phase of one rank. Times count from its beginning.
struct Phase {
    Nanoseconds edge = 0, end = 0;
};
/// `key`: the result of noise_key(). The phase ends exactly at 2 * compute + delay.
Phase phase_of(const Phases& phases, Nanoseconds delay, std::uint64_t key);

}  // namespace rollcall::bench
