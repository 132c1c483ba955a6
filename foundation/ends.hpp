/// \file
/// Pipes and socket pairs.
#pragma once

#include <cstddef>

#include "foundation/descriptor.hpp"

namespace rollcall::inline foundation {

/// Two connected descriptors. If the system refused to make them, both are empty and errno gives the reason.
struct Ends {
    Descriptor first;  ///< The read end of a pipe.
    Descriptor second;

    explicit operator bool() const { return static_cast<bool>(first); }
};

/// Makes a pipe. Programs that are executed do not inherit it.
Ends make_pipe();
/// Makes a pair of AF_UNIX sockets, which executed programs do not inherit. `type` is SOCK_STREAM or SOCK_SEQPACKET, optionally with
/// SOCK_NONBLOCK.
Ends make_sockets(int type);
/// How many bytes could be read from a pipe now. 0 if the system does not say it.
std::size_t bytes_in(int pipe);

}  // namespace rollcall::inline foundation
