/// \file
/// Elements in parts, one for each rank, that are combined through node memory.
#pragma once

#include <functional>

#include "runtime/engine/operation.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::collectives {

struct PublishedParts {
    /// This rank's contribution to the part of `rank`. It has the same length on all ranks.
    std::function<transport::ConstBytes(int rank)> brought;
    /// Where this rank's part goes once it is combined. It may be the place of this rank's contribution to it.
    transport::Bytes own;
    /// Where the combined parts of the other ranks go. Empty: no rank wants them.
    std::function<transport::Bytes(int rank)> others = {};
    /// Which of this rank's contributions to the parts of others are not copied. This rank then waits until the others have combined them.
    /// InPlace::anywhere, on all ranks that have a part or on none: also long ones in other memory, between two ranks and in any order.
    runtime::InPlace in_place = runtime::InPlace::nothing;
};

/// Each rank publishes its contributions to the parts of the other ranks. It combines its own part as the others' contributions come: in
/// any order, or in rank order where the order matters. Then it publishes its part for all ranks, if they want it. For more than one rank.
runtime::Task combine_published_parts(runtime::Operation& op, PublishedParts parts);

}  // namespace rollcall::collectives
