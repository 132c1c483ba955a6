/// \file
/// A file with raw samples: the times of every rank in every measured call.
#pragma once

#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/results/cell.hpp"
#include "bench/results/metrics.hpp"

namespace rollcall::bench {

/// Writes raw samples as CSV: a heading, then one line for each call and rank. A line contains the identity of the cell, the root, the
/// model, the landing (empty: there is one only), the distribution of sizes and the groups (empty: none), the message time, the iteration,
/// the rank, the requested delay, the arrival, the exit, the first data taken and the predicted arrival (empty: never). Times are in
/// nanoseconds. Except for the delay, they count from the common start of the call, so that a reader needs no clock. Lines of different
/// cells may be mixed, in the order in which they were measured.
class RawWriter {
  public:
    /// Creates or replaces the file. Throws Error{invalid_argument} with the system's reason if that fails.
    explicit RawWriter(std::filesystem::path path);
    /// Appends one call. Throws Error{invalid_argument} if the sample does not fit identity.ranks.
    void append(const CellIdentity& identity, const CallSetup& setup, const CallSample& sample);
    /// Hands over what was appended, so that it is kept whatever happens to this process.
    void flush() { file_.flush(); }
    /// Throws Error{state} if something could not be written, for example because the disk is full.
    void close();

  private:
    std::filesystem::path path_;
    std::ofstream file_;
};

/// All calls of one cell, in the order of the file. `start` is 0 in each call.
struct RawCell {
    CellIdentity identity;
    CallSetup setup;
    std::vector<CallSample> samples;
};

/// Whether all of a file must be there. The file of a writer that was ended early may be missing, or be cut off anywhere.
enum class RawFile { whole, cut_off };

/// Reads a file. The cells are in the order of their first lines. Throws Error{invalid_argument} that names the file, the line and the
/// mistake. Of a file that may be cut off, returns the cells that have all their calls.
std::vector<RawCell> read_raw(const std::filesystem::path& path, RawFile kind = RawFile::whole);

}  // namespace rollcall::bench
