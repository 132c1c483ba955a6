/// \file
/// Raw samples in a file: what every rank did in every measured call.
#pragma once

#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/cell.hpp"
#include "bench/metrics.hpp"

namespace rollcall::bench {

/// Writes raw samples as csv: a heading, then a line per call and rank with the cell's identity, root, message time,
/// model, iteration, rank, asked delay, arrival, exit, first data and predicted arrival (empty: never). Times are
/// nanoseconds; all but the delay count from the call's common start, so that a reader needs no clock. Lines of different cells may be
/// mixed, in the order in which they were measured.
class RawWriter {
  public:
    /// Creates or replaces the file. Throws Error{invalid_argument} with the system's reason when that fails.
    explicit RawWriter(std::filesystem::path path);
    /// Appends one call. Throws Error{invalid_argument} when sample and identity.ranks do not fit together.
    void append(const CellIdentity& identity, const CallSetup& setup, const CallSample& sample);
    /// Throws Error{state} when something could not be written, such as on a full disk.
    void close();

  private:
    std::filesystem::path path_;
    std::ofstream file_;
};

/// All calls of one cell, in the order of the file. `start` is 0 in each.
struct RawCell {
    CellIdentity identity;
    CallSetup setup;
    std::vector<CallSample> samples;
};

/// Reads a file back; cells in the order of their first line. Throws Error{invalid_argument} naming file, line and what
/// is wrong.
std::vector<RawCell> read_raw(const std::filesystem::path& path);

}  // namespace rollcall::bench
