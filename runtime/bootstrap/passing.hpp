/// \file
/// A frame with a descriptor, over a unix socket.
#pragma once

#include "runtime/bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// Sends a short frame and a descriptor that goes with it (SCM_RIGHTS), without blocking. Nothing else may be on its way on
/// this socket: so small a frame then goes whole or not at all. False when it did not, with errno.
bool send_with_descriptor(int socket, const Blob& frame, int descriptor);

}  // namespace rollcall::bootstrap
