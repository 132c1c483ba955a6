/// \file
/// Pipes and socket pairs.
#pragma once

#include "foundation/descriptor.hpp"

namespace rollcall::inline foundation {

/// Two descriptors that are connected. Both are empty when the system gave none: errno says why.
struct Ends {
    Descriptor first;  ///< Of a pipe: where it is read.
    Descriptor second;

    explicit operator bool() const { return static_cast<bool>(first); }
};

/// Neither is inherited by a program that is executed.
Ends make_pipe();
/// AF_UNIX; `type` is SOCK_STREAM or SOCK_SEQPACKET, or with SOCK_NONBLOCK.
Ends make_sockets(int type);

}  // namespace rollcall::inline foundation
