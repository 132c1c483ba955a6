/// \file
/// Measured tables of the papers, to be put beside our own measurements.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

#include "bench/cell.hpp"
#include "runtime/group/call.hpp"

namespace rollcall::bench {

/// Tables 3 and 4 of J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
/// operations", Cluster Computing 2020: an algorithm against another, on 48 nodes with Ethernet of 1 Gbit/s. Rows: sizes
/// of the whole vector; columns: uniformly distributed delays up to so much.
struct PaperTable {
    struct Entry {
        double difference;  ///< Mean run time of `algorithm` - that of `base`, milliseconds.
        double quotient;    ///< That of `base` / that of `algorithm`.
    };
    static constexpr std::array<std::uint64_t, 5> kSizes = {512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20};  ///< 128 Ki to 2 Mi floats.
    static constexpr std::array<Nanoseconds, 7> kDelays = {0, 1'000'000, 5'000'000, 10'000'000, 50'000'000, 100'000'000, 500'000'000};

    std::string_view name;  ///< "table3"
    runtime::OperationKind operation;
    std::string_view algorithm, base;  ///< Names of the catalogue.
    std::array<std::array<Entry, kDelays.size()>, kSizes.size()> entries;

    /// Of one of kSizes and one of kDelays. Throws std::out_of_range for others.
    const Entry& entry(std::uint64_t bytes, Nanoseconds delay) const;
};
std::span<const PaperTable> paper_tables();

/// What the paper's measurements were made with: ranks, iterations, compute time before each half of the delay (fig. 13), and for a
/// simulation its assumptions (section 4): the latency of a message, and 117 MB/s.
inline constexpr int kPaperRanks = 48;
inline constexpr std::uint64_t kPaperIterations = 128;  ///< At least (section 5.1).
inline constexpr const char* kPaperCompute = "100ms";
inline constexpr const char* kPaperModel = "alpha=50us,beta=8.547,gamma=0,notice=50us";

/// The pattern of a column.
std::string paper_pattern(Nanoseconds delay);

/// Makes of a cell of the table's algorithm one that compares: base_run_time, and difference and quotient of the run
/// times of calls of both with the same delays, with those of the paper beside them. Calls are paired by their number.
void compare(Cell& cell, const PaperTable& table, std::span<const CallSample> calls, std::span<const CallSample> base_calls);

}  // namespace rollcall::bench
