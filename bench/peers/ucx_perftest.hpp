/// \file
/// The benchmark that comes with UCX.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::bench {

inline constexpr const char* kUcxPerftest = "ucx_perftest";
/// How long a run may take.
inline constexpr auto kUcxPerftestLimit = std::chrono::seconds(60);

/// Throws Error{state} if the program is not in PATH.
void require_ucx_perftest();

/// Runs the program once, with so many round trips, as a server and a client of this host. `environment`: K=V. Returns half a round trip in
/// seconds. Throws Error{state} if it fails, and usage::EarlyEnd if a signal asks this process to end.
double ucx_perftest(std::uint64_t bytes, const std::vector<std::string>& environment, std::uint64_t trips);

}  // namespace rollcall::bench
