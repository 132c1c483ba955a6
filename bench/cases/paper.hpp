/// \file
/// Tables of measurements from papers, for comparison with our own measurements.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

#include "bench/results/cell.hpp"
#include "runtime/group/call.hpp"

namespace rollcall::bench {

/// Tables 3 and 4 of J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster
/// Computing 2020. They compare two algorithms on 48 nodes with Ethernet of 1 Gbit/s. The rows are sizes of the whole vector. The columns
/// are the upper limits of uniformly distributed delays.
struct PaperTable {
    struct Entry {
        double difference;  ///< Mean run time of `algorithm` minus that of `base`, in milliseconds.
        double quotient;    ///< Mean run time of `base` divided by that of `algorithm`.
    };
    static constexpr std::array<std::uint64_t, 5> kSizes = {512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20};  ///< 128 Ki to 2 Mi floats.
    static constexpr std::array<Nanoseconds, 7> kDelays = {0, 1'000'000, 5'000'000, 10'000'000, 50'000'000, 100'000'000, 500'000'000};

    std::string_view name;  ///< "table3"
    runtime::OperationKind operation;
    std::string_view algorithm, base;  ///< Names in the catalogue of algorithms.
    std::array<std::array<Entry, kDelays.size()>, kSizes.size()> entries;

    /// Returns the entry for one of kSizes and one of kDelays. Throws std::out_of_range for other values.
    const Entry& entry(std::uint64_t bytes, Nanoseconds delay) const;
};
std::span<const PaperTable> paper_tables();

/// The conditions of figures 10 and 11 of J. Proficz and K. M. Ocetkiewicz, "Improving Clairvoyant: reduction algorithm resilient to
/// imbalanced process arrival patterns", 2020: reductions of 128 Ki to 1 Mi floats, with uniformly distributed delays of up to 500 ms. The
/// paper does not print the values of the figures, so there is nothing to print beside what is measured. It names allreduce as future work.
struct PaperFigure {
    static constexpr std::array<std::uint64_t, 4> kSizes = {512 << 10, 1 << 20, 2 << 20, 4 << 20};

    std::string_view name;  ///< "fig10"
    runtime::OperationKind operation;
    std::span<const Nanoseconds> delays;           ///< Out of PaperTable::kDelays.
    std::span<const std::string_view> algorithms;  ///< Names in the catalogue of algorithms.
};
std::span<const PaperFigure> paper_figures();

/// The conditions of the paper's measurements: the ranks, the iterations, and the compute time before each half of the delay (fig. 13). For
/// simulations: the paper's assumptions (section 4) about the latency of a message, and 117 MB/s.
inline constexpr int kPaperRanks = 48;
inline constexpr std::uint64_t kPaperIterations = 128;  ///< At least this many (section 5.1).
inline constexpr const char* kPaperCompute = "100ms";
inline constexpr const char* kPaperModel = "alpha=50us,beta=8.547,gamma=0,notice=50us";

/// The arrival pattern of a column.
std::string paper_pattern(Nanoseconds delay);

/// A part of a size in whole elements of 4 bytes, or of a time. At least one element, or 1 ns, unless it is 0. `scale` is above 0.
std::uint64_t scaled_bytes(std::uint64_t bytes, double scale);
Nanoseconds scaled_time(Nanoseconds time, double scale);

/// Adds a comparison to a cell of the table's algorithm: base_run_time, and the difference and quotient of the run times of both algorithms
/// with the same delays. The paper's values are added as well. Calls are paired by their numbers.
void compare(Cell& cell, const PaperTable& table, std::span<const CallSample> calls, std::span<const CallSample> base_calls);

}  // namespace rollcall::bench
