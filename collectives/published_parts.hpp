/// \file
/// Elements in parts, one for each rank, that are combined through node memory.
#pragma once

#include <functional>

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

struct PublishedParts {
    /// What this rank brings of the part of a rank. As long on all ranks.
    std::function<transport::ConstBytes(int rank)> brought;
    /// Where this rank's part goes when it is combined. May be what it brings of that.
    transport::Bytes own;
    /// Where the combined parts of others go; empty: they are not wanted, by any rank.
    std::function<transport::Bytes(int rank)> others = {};
};

/// Each rank writes what it brings of the others' parts, and combines its own as the others come: in whatever order, or in rank order where
/// that counts. Then it shows its part to all, if they want it. For more than one rank.
runtime::Task combine_published_parts(runtime::Operation& op, PublishedParts parts);

}  // namespace rollcall::collectives
