/// \file
/// Compute phases before the calls of a plan (Proficz 2020, fig. 13): how long they are, and when their middle is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rollcall/plan.hpp>
#include <rollcall/time.hpp>

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// The words as they came.
struct PhaseWords {
    std::optional<std::string> compute, predictor, noise;
    bool no_edge = false;
};
/// Adds --compute, --predictor, --no-edge and --prediction-noise.
void add_phase_options(usage::Command& command, PhaseWords& words);

struct Phases {
    /// A rank that is to come x late computes for 2 * (compute + x/2): phases all have the same length but for the delays.
    Nanoseconds compute = 0;
    std::string compute_text = "0";  ///< As it was given.
    Predictor predictor = Predictor::edge_linear;
    bool edge = true;  ///< Whether ranks say so in the middle.
    /// The middle is told where really (1 + e)/2 of the phase are over, e normally distributed with this deviation in percent and cut
    /// at -1 and 1: what an edge predicts is off by e times the phase.
    double noise_percent = 0;

    /// What says how a cell was measured.
    std::vector<std::pair<std::string, std::string>> notes() const;
};
inline constexpr const char* kNoCompute = "off";
/// Nothing: calls without phases. `compute`: where none was given. Throws Error{invalid_argument} that lists what is allowed, also for
/// --predictor and the others without --compute.
std::optional<Phases> checked(const PhaseWords& words, const std::string& compute = kNoCompute);

/// The fraction that is told.
inline constexpr double kEdge = 0.5;

/// Which error is drawn: the same for all algorithms, as delays are.
std::uint64_t noise_key(std::uint64_t seed, std::uint64_t iteration, int rank);

/// One phase of one rank, counted from its begin.
struct Phase {
    Nanoseconds edge = 0, end = 0;
};
/// `key`: a noise_key(). The end of a phase is 2 * compute + delay, exactly.
Phase phase_of(const Phases& phases, Nanoseconds delay, std::uint64_t key);

}  // namespace rollcall::bench
