/// \file
/// A schedule as each process carries it out.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedules/clairvoyant.hpp"

namespace rollcall::collectives {

/// What one process does in a round. 16 bytes.
struct Step {
    enum Kind : std::uint32_t {
        send,     ///< Its segment goes to `peer`; it has none then.
        combine,  ///< The peer's segment comes and is combined with its own.
        replace,  ///< The peer's segment comes in place of its own, which it has sent before.
    };
    std::int64_t round;
    int peer;
    std::uint32_t segment : 30;
    Kind kind : 2;

    bool operator==(const Step&) const = default;
};
static_assert(sizeof(Step) == 16);

/// The steps of `rank`, by round, in a round the send first. In order they can be carried out without any notion of rounds: a send is
/// begun and may go on; a receive, from the named peer, is waited for. A send and a receive of one round are of different segments;
/// before a segment is received a send of the same one must be over. Between two processes messages come in the order of these steps.
///
/// Example: of the example in clairvoyant.cpp process 1 has: send 0 to 0, combine 1 from 0; send 2 to 3, combine 1 from 3; send 3 to 3,
/// combine 1 from 2; send 1 to 0.
std::vector<Step> steps_of(const Schedule& schedule, int rank);

}  // namespace rollcall::collectives
