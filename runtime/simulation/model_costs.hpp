/// \file
/// What communication costs on a simulated network.
#pragma once

#include "foundation/costs.hpp"
#include "transports/simulated/simulated_network.hpp"

namespace rollcall::runtime {

/// The costs of a model, whole and at least 1 ns each. The simulated network does not know of nodes: messages within one cost the same.
/// Simulated jobs have these costs, and `auto` compares algorithms by them.
Costs costs_of(const transport::Model& model);

}  // namespace rollcall::runtime
