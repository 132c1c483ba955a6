/// \file
/// The launcher waits as the bootstrap does.
#pragma once

#include "bootstrap/poller.hpp"

namespace rollcall::launcher {

using bootstrap::Poller;

}  // namespace rollcall::launcher
