/// \file
/// For torchrun, and for all other starters that set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// Whether the environment has these variables. If only one of MASTER_ADDR and MASTER_PORT is there, the other one has been forgotten.
bool torchrun_is_evident();

/// Joins the job. Rank 0 listens at MASTER_ADDR, at ROLLCALL_PORT if that is set, and otherwise at the first free one of 16 ports in
/// [24000, 28096) that follow from the key of the job. MASTER_PORT is left to the program's framework. The key comes from the user's key
/// file. Throws as Rendezvous does, Error{bootstrap} if the variables are wrong, and Error{invalid_argument} if MASTER_ADDR does not stand
/// for a single address.
std::unique_ptr<Bootstrap> join_torchrun();

}  // namespace rollcall::bootstrap
