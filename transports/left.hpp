/// \file
/// What a transport cannot take down, because its library would end the process over it.
#pragma once

#include <memory>

namespace rollcall::transport {

/// Keeps this until the process ends. For transports that were not left in good order: their library may still look at their memory. Any
/// thread.
void leave_to_the_end(std::shared_ptr<void> what);

}  // namespace rollcall::transport
