/// \file
/// A frame with a descriptor, over a unix socket.
#pragma once

#include <cstddef>
#include <span>

#include <sys/types.h>

#include "bootstrap/bootstrap.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// Sends a short frame and a descriptor that goes with it (SCM_RIGHTS), without blocking. Nothing else may be on its way on
/// this socket: so small a frame then goes whole or not at all. False when it did not, with errno.
bool send_with_descriptor(int socket, const Blob& frame, int descriptor);

/// Reads what is there, without blocking, up to a frame with a descriptor, which goes to `passed`. If one came that this process
/// could not take (the limit of its open files is reached), `passed` is empty then. Otherwise as recv().
ssize_t receive_with_descriptor(int socket, std::span<std::byte> into, Descriptor& passed);

}  // namespace rollcall::bootstrap
