/// \file
/// The launcher uses the poller of the bootstrap.
#pragma once

#include "bootstrap/poller.hpp"

namespace rollcall::launcher {

using bootstrap::Poller;

}  // namespace rollcall::launcher
