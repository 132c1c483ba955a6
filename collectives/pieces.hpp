/// \file
/// The pieces into which algorithms cut a message, so that several links are busy with it at the same time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "foundation/combiner.hpp"
#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// The number of pieces into which a message of `bytes` bytes is cut. A segment of 0 means that it is not cut.
constexpr std::uint64_t segment_count(std::uint64_t bytes, std::uint64_t segment) {
    return segment == 0 || bytes <= segment ? 1 : (bytes + segment - 1) / segment;
}

/// The segment of elements that are combined: whole elements. 0 remains 0.
inline std::uint64_t whole_segment(const Combiner& combiner, std::uint64_t segment) noexcept {
    return segment == 0 ? 0 : combiner.whole_elements(segment);
}

/// At most so many pieces are under way at the same time between two ranks.
inline constexpr std::uint64_t kMostPiecesAtOnce = 4;

/// The size of memory for the pieces of a message that are under way at the same time, at most.
constexpr std::uint64_t room_of_pieces(std::uint64_t bytes, std::uint64_t segment) {
    const std::uint64_t count = segment_count(bytes, segment);
    return count == 1 ? bytes : std::min(count, kMostPiecesAtOnce) * segment;
}

/// A message of `bytes` bytes in pieces of `segment` bytes, of which the last one may be shorter. A segment of 0 means one piece. A message
/// without bytes is one piece, too.
class Pieces {
  public:
    /// window() is at most this.
    static constexpr std::uint64_t kMostAtOnce = kMostPiecesAtOnce;

    Pieces(const runtime::Operation& op, std::uint64_t bytes, std::uint64_t segment)
        : bytes_(bytes),
          segment_(segment == 0 || bytes <= segment ? bytes : segment),
          count_(segment_count(bytes, segment)),
          window_(std::min({count_, std::uint64_t{op.pieces_under_way()}, kMostAtOnce})) {}

    std::uint64_t count() const noexcept { return count_; }
    /// How many pieces are under way at the same time between two ranks.
    std::uint64_t window() const noexcept { return window_; }
    /// Where a piece stands in an array of window() elements, in which each piece takes the place of an earlier one.
    std::size_t at(std::uint64_t number) const noexcept { return static_cast<std::size_t>(number % window_); }

    /// Where a piece ends in the message.
    std::uint64_t end(std::uint64_t number) const noexcept { return number * segment_ + size(number); }
    /// A piece of the whole message.
    template <class Bytes>
    Bytes of(Bytes all, std::uint64_t number) const {
        return runtime::slice(all, number * segment_, size(number));
    }
    /// The size of memory for window() pieces, in bytes.
    std::uint64_t room() const noexcept { return window_ * segment_; }
    /// A piece's place in such memory.
    transport::Bytes slot(transport::Bytes memory, std::uint64_t number) const {
        return runtime::slice(memory, at(number) * segment_, size(number));
    }

  private:
    std::uint64_t size(std::uint64_t number) const noexcept { return std::min(segment_, bytes_ - number * segment_); }

    std::uint64_t bytes_, segment_, count_, window_;
};

}  // namespace rollcall::collectives
