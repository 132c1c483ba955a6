/// \file
/// The building block of trees and chains: receive a message from one rank and pass it on to others, piece by piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::Pending;
using runtime::Task;

/// The number of pieces into which a message of `bytes` bytes is cut. A segment of 0 means that it is not cut.
inline std::uint64_t segment_count(std::uint64_t bytes, std::uint64_t segment) {
    return segment == 0 || bytes <= segment ? 1 : (bytes + segment - 1) / segment;
}

/// One of the pieces into which a message is cut.
inline transport::Bytes segment_at(transport::Bytes data, std::uint64_t segment, std::uint64_t pieces, std::uint64_t number) {
    const std::uint64_t offset = pieces == 1 ? 0 : number * segment;
    return runtime::slice(data, offset, pieces == 1 ? data.size : std::min(segment, data.size - offset));
}

/// The default piece size for a chain, in bytes. A chain takes as many steps as it has ranks and pieces together, so the message is cut
/// into at least as many pieces as there are ranks, within the bounds of 16 and 128 KiB.
constexpr std::uint64_t chain_segment(std::uint64_t bytes, int ranks) {
    const std::uint64_t wanted = bytes / (2 * static_cast<std::uint64_t>(ranks < 2 ? 1 : ranks - 1));
    std::uint64_t segment = 128 << 10;
    while (segment > wanted && segment > (16 << 10)) segment /= 2;
    return segment;
}

/// Receives `data` from rank `from` (-1: it is here already) and sends it to the ranks `to`, in that order, in pieces of `segment` bytes. A
/// piece is passed on as soon as it is here. Uses the steps from `step` on, one for each piece.
/// A whole message goes to one rank after the other, because the first rank has the most work to do with it. Of a message in pieces, a few
/// pieces at a time are under way.
Task relay(Operation& op, transport::Bytes data, int from, std::vector<int> to, std::uint64_t segment, std::uint64_t step);

}  // namespace rollcall::collectives
