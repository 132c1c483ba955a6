/// \file
/// How much early data the ranks of a benchmark hold, as --landing describes it, and whether their calls use it while they are away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/results/metrics.hpp"

namespace rollcall::bench {

/// Which early data lands: all, within the budget that is set; none; or messages up to a length ("eager:64Ki"). Each choice needs a job of
/// its own.
inline constexpr const char *kLandingOn = "on", *kLandingOff = "off";
/// The limit of Open MPI over TCP, with which Proficz measured. His quotients at 50 ms jump from 1.00 to 1.27 where the blocks of 48 ranks
/// exceed it.
inline constexpr const char* kLandingOfPapers = "eager:64Ki";
inline constexpr const char* kLandingOfPapersInWords = " (default with --paper: eager:64Ki, as Open MPI over TCP)";

/// The landing of the ranks inside this job, or of those of a job that is started without further settings.
std::string landing_now();
/// The model of the papers that corresponds to it.
Model model_now();
/// Converts "on,eager:64Ki" to words such as landing_now() returns. Throws Error{invalid_argument} that lists what is allowed.
std::vector<std::string> parse_landing(const std::string& text);
/// The environment with which ranks must be started for this choice.
std::vector<std::string> environment_of(const std::string& landing);

/// The same choice for simulated ranks.
struct SimulatedLanding {
    std::string word = {};                          ///< In its shortest form.
    std::uint64_t budget = std::uint64_t{1} << 62;  ///< How many bytes of early data a rank holds. The default suffices.
    std::uint64_t longest = 0;                      ///< Longer messages wait at their senders; 0: none does.

    Model model() const { return budget == 0 ? Model::blocking : longest > 0 ? Model::eager : Model::nonblocking; }
};
/// Converts "on,off,eager:64Ki,1Mi". A size alone is a budget. Throws Error{invalid_argument} that lists what is allowed.
std::vector<SimulatedLanding> parse_simulated_landing(const std::string& text);
/// Converts "auto,no", the values of --decouple, to whether a rank's part in a call may begin before its caller and go on after it. `no`
/// comes first. Throws Error{invalid_argument} that lists what is allowed.
std::vector<bool> parse_decouple(const std::string& text);

}  // namespace rollcall::bench
