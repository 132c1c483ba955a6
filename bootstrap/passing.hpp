/// \file
/// Sends and receives a frame with a descriptor, over a unix socket.
#pragma once

#include <cstddef>
#include <span>

#include <sys/types.h>

#include "bootstrap/bootstrap.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// Sends a short frame with a descriptor (SCM_RIGHTS), without blocking. Nothing else may be under way on this
/// socket. Then so small a frame is sent whole or not at all. Returns false if it was not sent, with errno.
bool send_with_descriptor(int socket, const Blob& frame, int descriptor);

/// Reads what is there, without blocking, up to a frame with a descriptor. The descriptor goes to `passed`. `passed`
/// is empty if a descriptor came that this process could not take, because the limit of its open files is reached.
/// Otherwise as recv().
ssize_t receive_with_descriptor(int socket, std::span<std::byte> into, Descriptor& passed);

}  // namespace rollcall::bootstrap
