#include "collectives/segments/tree_costs.hpp"

#include <algorithm>

namespace rollcall::collectives {

LinearCosts tree_costs(const Costs& costs) {
    const double sent = time_of_byte(costs.network_mebibyte);
    return {.alpha = static_cast<double>(costs.network_gap), .beta = sent, .gamma = std::min(time_of_byte(costs.copy_mebibyte), sent)};
}

std::uint64_t straight_from(const Costs& costs) {
    constexpr std::uint64_t kMebibyte = 1 << 20;
    const auto message = static_cast<std::uint64_t>(costs.network_gap);
    const auto mebibyte = static_cast<std::uint64_t>(costs.network_mebibyte);
    // A gap may be an hour, and 8 * 2^20 times more than 36 minutes does not fit into 64 bits. So the gap is limited.
    const std::uint64_t messages = std::min<std::uint64_t>(message, ~std::uint64_t{0} / kMebibyte / kStraightMessages);
    return std::max<std::uint64_t>(messages * kStraightMessages * kMebibyte / std::max<std::uint64_t>(mebibyte, 1), 1);
}

}  // namespace rollcall::collectives
