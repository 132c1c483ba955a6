/// \file
/// What the ranks of a host need before they are started.
#pragma once

#include <string>
#include <vector>

#include "launcher/claims.hpp"
#include "launcher/protocol.hpp"

namespace rollcall::launcher {

/// Binds ranks to this machine and claims their processors. BindTo::automatic binds only to cores that no other job
/// has claimed. Throws as bind_ranks().
HostBinding bind_host(int ranks, MapBy map, BindTo bind, Claims& claims);

struct Preparation {
    std::vector<std::string> programs;                   ///< Their paths here, by application.
    std::vector<std::vector<std::string>> environments;  ///< By application.
    std::vector<std::vector<int>> processors;            ///< By local rank; empty: they are not bound.
    Claims claims;                                       ///< The claims of these processors.
};

/// Changes to the directory of the order. Checks whether the ranks of the order's first host can be started here, and
/// decides where they run. `host` is the name that this host calls itself. `found` has what was found, unless the
/// answer is a refusal.
Prepared prepare_host(const Order& order, const std::string& host, Preparation& found);

}  // namespace rollcall::launcher
