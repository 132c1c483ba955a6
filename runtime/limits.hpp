/// \file
/// What the settings mean for a job, before its ranks have met. `rollcall info --explain`, which has no job, asks here. Processes take the
/// limits of messages from here. They find out the rest when they have their memory, and a test compares that with what is said here.
#pragma once

#include <cstdint>

#include "foundation/settings.hpp"

namespace rollcall::runtime {

/// The longest messages that travel with their headers.
struct EagerLimits {
    std::uint64_t usual, over_tcp;
};
EagerLimits eager_limits(const Settings& settings) noexcept;

/// The longest message that may land early.
std::uint64_t longest_landing(const Settings& settings) noexcept;

/// How much data callers may leave behind at once, in a job of this size.
std::uint64_t most_kept(const Settings& settings, int size);

/// Whether ranks of one node, which are a job of this size, share node memory as far as the settings decide it. One rank needs none.
bool may_share_node(const Settings& settings, int size);

}  // namespace rollcall::runtime
