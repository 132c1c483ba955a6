/// \file
/// A schedule in the form in which each process carries it out.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedules/clairvoyant.hpp"

namespace rollcall::collectives {

/// What one process does in a round. 16 bytes.
struct Step {
    enum Kind : std::uint32_t {
        send,     ///< Its segment goes to `peer`. After that it does not have the segment.
        combine,  ///< The peer's segment comes, and is combined with its own.
        replace,  ///< The peer's segment replaces its own, which it has sent before.
    };
    std::int64_t round;
    int peer;
    std::uint32_t segment : 30;
    Kind kind : 2;

    bool operator==(const Step&) const = default;
};
static_assert(sizeof(Step) == 16);

/// The steps of `rank`, sorted by round; in a round the send comes first. A process carries them out in this order and needs no notion of
/// rounds. A send is begun and may go on. A receive, from the named peer, is waited for. The send and the receive of one round are of
/// different segments. Before a segment is received, a send of the same segment must be over. Between two processes, messages come in the
/// order of these steps.
///
/// Example: in the example of clairvoyant.cpp, process 1 has these steps: send 0 to 0, combine 1 from 0; send 2 to 3, combine 1 from 3;
/// send 3 to 3, combine 1 from 2; send 1 to 0.
std::vector<Step> steps_of(const Schedule& schedule, int rank);

}  // namespace rollcall::collectives
