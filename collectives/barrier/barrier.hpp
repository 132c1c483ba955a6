/// \file
/// The barrier algorithms.
#pragma once

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

runtime::Task barrier_linear(runtime::Operation& op);
runtime::Task barrier_dissemination(runtime::Operation& op);
runtime::Task barrier_board_linear(runtime::Operation& op);
runtime::Task barrier_board_all_to_all(runtime::Operation& op);

}  // namespace rollcall::collectives
