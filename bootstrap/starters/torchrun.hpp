/// \file
/// Started by torchrun, or by anything else that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// Whether the environment says so.
bool torchrun_is_evident();

/// Rank 0 waits at MASTER_ADDR, at ROLLCALL_PORT if that is set, else at the first free one of 16 ports in [24000, 28096) that follow
/// from the key of the job: MASTER_PORT is left to the program's framework. The key comes from the user's key file. Throws as
/// Rendezvous, Error{bootstrap} for what the variables say, and Error{invalid_argument} where MASTER_ADDR is no one address.
std::unique_ptr<Bootstrap> join_torchrun();

}  // namespace rollcall::bootstrap
