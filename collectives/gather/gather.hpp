/// \file
/// The gather algorithms, one file each. Arguments: on every rank `contribution`, its block; at the root `data`, where the
/// blocks of all ranks go in their order (its own may be in its place there); call().bytes is the size of a block, the same
/// for all; `segment_bytes`.
#pragma once

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

runtime::Task gather_linear(runtime::Operation& op);
runtime::Task gather_linear_synchronized(runtime::Operation& op);
runtime::Task gather_binomial(runtime::Operation& op);
runtime::Task gather_sorted_linear_synchronized(runtime::Operation& op);
runtime::Task gather_sorted_binomial(runtime::Operation& op);
runtime::Task gather_background_sorted_linear_synchronized(runtime::Operation& op);
runtime::Task gather_background_sorted_binomial(runtime::Operation& op);
runtime::Task gather_online_linear(runtime::Operation& op);

}  // namespace rollcall::collectives
