#include "runtime/simulation/model_costs.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::runtime {

Costs costs_of(const transport::Model& model) {
    const auto whole = [](double time) { return std::max<Nanoseconds>(std::llround(time), 1); };
    constexpr double kMebibyte = 1 << 20;
    Costs costs;
    // A port is busy with a message from its beginning to its end.
    costs.network_latency = costs.network_gap = costs.node_latency = costs.node_gap = whole(model.alpha);
    costs.network_mebibyte = costs.node_mebibyte = whole(model.beta * kMebibyte);
    costs.copy_mebibyte = costs.combine_mebibyte = whole(model.gamma * kMebibyte);
    return costs;
}

}  // namespace rollcall::runtime
