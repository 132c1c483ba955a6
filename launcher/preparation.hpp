/// \file
/// What the ranks of a host need before they are started.
#pragma once

#include <string>
#include <vector>

#include "launcher/protocol.hpp"

namespace rollcall::launcher {

struct Preparation {
    std::vector<std::string> programs;                   ///< Their paths here, by application.
    std::vector<std::vector<std::string>> environments;  ///< By application.
    std::vector<std::vector<int>> processors;            ///< By local rank; empty: they are not bound.
};

/// Goes to the order's directory, and looks whether the ranks of the order's first host, which calls itself `host`, can be
/// started here, and where they run. What was found is in `found` unless the answer refuses.
Prepared prepare_host(const Order& order, const std::string& host, Preparation& found);

}  // namespace rollcall::launcher
