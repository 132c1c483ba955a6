/// \file
/// Blocks of several ranks in one message.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

/// The blocks of all ranks in the order in which they are sent: one after the other from the block of rank `first` on, and after the last
/// rank from rank 0 on. If the blocks are in this order in the data of the call, the line is there. Otherwise it is in memory of its own.
class Line {
  public:
    Line(Operation& op, int first);

    /// The blocks of `count` ranks from `rank` on. They must not go beyond the end of the line.
    transport::Bytes blocks(int rank, int count) const;
    /// Copies this rank's own block into the line.
    Pending put_own() const;
    int first() const { return first_; }
    /// Whether the line is in the data of the call.
    bool is_in_data() const { return !scratch_; }

  private:
    int position(int rank) const { return (rank - first_ + op_.size()) % op_.size(); }
    std::uint64_t offset(int at) const {
        return offsets_.empty() ? op_.call().bytes * static_cast<std::uint64_t>(at) : offsets_[static_cast<std::size_t>(at)];
    }

    Operation& op_;
    int first_;
    std::vector<std::uint64_t> offsets_;  ///< By position, and that of the end. Empty: all blocks have one size.
    std::optional<Scratch> scratch_;
    transport::Bytes bytes_;
};

/// Call it when all blocks are in the line. Copies them to their places in the data, if the line is not there.
Task put_out(Operation& op, const Line& line);

}  // namespace rollcall::collectives
