/// \file
/// How much early data the ranks of a benchmark hold, in the words of --landing.
#pragma once

#include <string>
#include <vector>

#include "bench/metrics.hpp"

namespace rollcall::bench {

/// What of early data lands: all as far as it is set, nothing, or messages up to a length ("eager:64Ki"). Each is a job.
inline constexpr const char *kLandingOn = "on", *kLandingOff = "off";
/// Open MPI's over TCP, on which Proficz measured: his quotients at 50 ms leap from 1.00 to 1.27 where the blocks of 48 ranks pass it.
inline constexpr const char* kLandingOfPapers = "eager:64Ki";

/// What the ranks that are here, or a job that says nothing of it, do.
std::string landing_now();
/// The model of the papers that this makes.
Model model_now();
/// "on,eager:64Ki" to words such as landing_now() gives. Throws Error{invalid_argument} that lists what is allowed.
std::vector<std::string> parse_landing(const std::string& text);
/// What ranks are to be started with for this.
std::vector<std::string> environment_of(const std::string& landing);

}  // namespace rollcall::bench
