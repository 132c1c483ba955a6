/// \file
/// Started by torchrun, or by anything else that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#pragma once

#include <memory>

#include "runtime/bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// Whether the environment says so.
bool torchrun_is_evident();

/// Rank 0 waits at MASTER_ADDR, at ROLLCALL_PORT if that is set, else at MASTER_PORT, else, where torchrun's agent sits on that
/// port (TORCHELASTIC_USE_AGENT_STORE=True), at the next one. The key of the job comes from the user's key file. Throws
/// as Rendezvous, Error{bootstrap} for what the variables say, and Error{invalid_argument} where MASTER_ADDR is no one address.
std::unique_ptr<Bootstrap> join_torchrun();

}  // namespace rollcall::bootstrap
