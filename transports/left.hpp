/// \file
/// Keeps what a transport cannot take down, because its library would end the process if it did.
#pragma once

#include <memory>

namespace rollcall::transport {

/// Keeps the object until the process ends. For transports that did not end in good order, because their library may still use their
/// memory. Any thread may call it.
void leave_to_the_end(std::shared_ptr<void> what);

}  // namespace rollcall::transport
