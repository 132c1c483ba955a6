#include "runtime/limits.hpp"

#include <algorithm>

#include "runtime/landing/landing.hpp"
#include "runtime/messages/peers.hpp"
#include "runtime/node/segment.hpp"

namespace rollcall::runtime {
namespace {

// A message that travels with its header is copied at the receiver. The alternative asks the receiver first. Over shared memory and RDMA
// the question is cheap. Over TCP it takes as long as 64 KiB at 1 Gbit/s take, or longer where the receiver sleeps.
constexpr std::uint64_t kEagerBytes = 8 << 10;
constexpr std::uint64_t kEagerBytesOverTcp = 64 << 10;

}  // namespace

EagerLimits eager_limits(const Settings& settings) noexcept {
    const bool automatic = settings.eager_bytes == kAutomaticBytes;
    const std::uint64_t limit = longest_landing(settings);
    return {.usual = std::min(automatic ? kEagerBytes : settings.eager_bytes, limit),
            .over_tcp = std::min(automatic ? kEagerBytesOverTcp : settings.eager_bytes, limit)};
}

std::uint64_t longest_landing(const Settings& settings) noexcept {
    return settings.landing_longest ? settings.landing_longest : ~std::uint64_t{0};
}

std::uint64_t most_kept(const Settings& settings, int size) { return Landing::most_kept(landing_budget_for(settings.landing_bytes, size)); }

bool may_share_node(const Settings& settings, int size) {
    if (size == 1) return true;
    return settings.node_memory != "no" && node::large_blocks_for(landing_budget_for(settings.landing_bytes, size)) > 0;
}

}  // namespace rollcall::runtime
