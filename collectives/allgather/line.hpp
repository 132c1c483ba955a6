/// \file
/// Blocks of several ranks in one message.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/blocks.hpp"

namespace rollcall::collectives {

/// The blocks of all ranks as they are sent: one behind the other from that of rank `first` on, and past the last rank from rank 0 on. That
/// is the data of the call where the blocks stand there like that, else memory beside it.
class Line {
  public:
    Line(Operation& op, int first);

    /// Those of `count` ranks from `rank` on. They must not go over the end of the line.
    transport::Bytes blocks(int rank, int count) const;
    /// Puts the own block there.
    Pending put_own() const;
    int first() const { return first_; }
    /// Whether the data is the line.
    bool is_in_data() const { return !scratch_; }

  private:
    int position(int rank) const { return (rank - first_ + op_.size()) % op_.size(); }
    std::uint64_t offset(int at) const {
        return offsets_.empty() ? op_.call().bytes * static_cast<std::uint64_t>(at) : offsets_[static_cast<std::size_t>(at)];
    }
    /// Where the line begins in the data, if it stands there.
    std::optional<std::uint64_t> place_in_data() const;

    Operation& op_;
    int first_;
    std::vector<std::uint64_t> offsets_;  ///< By position, and of the end; empty: of equal blocks.
    std::optional<Scratch> scratch_;
    transport::Bytes bytes_;
};

/// All blocks are in the line: puts them where they belong.
Task put_out(Operation& op, const Line& line);

}  // namespace rollcall::collectives
