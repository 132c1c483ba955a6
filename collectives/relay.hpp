/// \file
/// The step that trees and chains are made of: take the message from one rank, pass it on to others, piece by piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::Pending;
using runtime::Task;

/// Number of pieces a message of `bytes` is cut into. A segment of 0 means: not cut.
inline std::uint64_t segment_count(std::uint64_t bytes, std::uint64_t segment) {
    return segment == 0 || bytes <= segment ? 1 : (bytes + segment - 1) / segment;
}

/// A piece of a chain of ranks that combine: as many pieces as there are ranks, or more.
constexpr std::uint64_t combining_segment(std::uint64_t bytes, int ranks) {
    const std::uint64_t wanted = bytes / (2 * static_cast<std::uint64_t>(ranks < 2 ? 1 : ranks - 1));
    std::uint64_t segment = 128 << 10;
    while (segment > wanted && segment > (16 << 10)) segment /= 2;
    return segment;
}

/// Receives `data` from rank `from` (-1: it is here already) and sends it to the ranks `to`, in that order, in pieces of
/// `segment` bytes; a piece is passed on as soon as it is here. Uses the steps from `step` on, one for each piece.
/// A whole message goes to one rank after the other, because the first one has the most to do with it; pieces are kept
/// in flight, a few at a time.
Task relay(Operation& op, transport::Bytes data, int from, std::vector<int> to, std::uint64_t segment, std::uint64_t step);

}  // namespace rollcall::collectives
