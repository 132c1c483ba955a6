/// \file
/// The broadcast algorithms, one file each. Arguments: `data` on every rank (read at the root), `segment_bytes`.
#pragma once

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

runtime::Task broadcast_linear(runtime::Operation& op);
runtime::Task broadcast_binomial(runtime::Operation& op);
runtime::Task broadcast_pipelined(runtime::Operation& op);
runtime::Task broadcast_scatter_allgather(runtime::Operation& op);
runtime::Task broadcast_arrival_blocking(runtime::Operation& op);
runtime::Task broadcast_arrival_nonblocking(runtime::Operation& op);
/// Needs `arguments().oracle`: every rank's arrival time. Simulation only.
runtime::Task broadcast_near_optimal(runtime::Operation& op);

}  // namespace rollcall::collectives
