/// \file
/// The scatter algorithms, one file each. Arguments: at the root `data`, the blocks of all ranks in their order, which is
/// only read; on every rank `result`, where its block goes (at the root it may be its place in `data`); call().bytes is the
/// size of a block, the same for all.
#pragma once

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

runtime::Task scatter_linear(runtime::Operation& op);
runtime::Task scatter_binomial(runtime::Operation& op);
runtime::Task scatter_sorted_linear(runtime::Operation& op);
runtime::Task scatter_sorted_binomial(runtime::Operation& op);
runtime::Task scatter_background_sorted_linear(runtime::Operation& op);
runtime::Task scatter_background_sorted_binomial(runtime::Operation& op);
runtime::Task scatter_online_linear(runtime::Operation& op);

}  // namespace rollcall::collectives
