/// \file
/// Calls that do not match: what each rank is told. The errors blame no rank, because nobody knows which of two calls is right.
///
/// An operation that finds sizes which differ reports them itself (Operation::tell_sizes_differ()).
#pragma once

#include <cstdint>

#include "runtime/group/call.hpp"
#include "runtime/group/group.hpp"

namespace rollcall::runtime {

class Engine;
struct CommunicatorState;

/// Fails the communicator on all its ranks, because `mine` and `other`, the call of world rank `source`, differ. `mine` is the call of this
/// rank or, where it is given, of world rank `whose`.
void fail_mismatch(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& mine, const Call& other, int source,
                   int whose = -1);

/// Returns whether the call of world rank `source` agrees with this rank's call of that sequence, as far as it remembers it. If not, the
/// communicator fails.
bool check_call(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, int source);

}  // namespace rollcall::runtime
