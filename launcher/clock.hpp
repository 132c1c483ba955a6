/// \file
/// The launcher's clock is the bootstrap's.
#pragma once

#include "runtime/bootstrap/clock.hpp"

namespace rollcall::launcher {

using bootstrap::after;
using bootstrap::kMillisecond;
using bootstrap::kNever;
using bootstrap::now;

}  // namespace rollcall::launcher
