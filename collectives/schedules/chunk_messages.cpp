#include "collectives/schedules/chunk_messages.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rollcall::collectives {

std::vector<Step> steps_of(std::span<const ChunkMessage> messages, int rank) {
    std::vector<Step> steps;
    for (const ChunkMessage& message : messages) {
        const auto segment = static_cast<std::uint32_t>(message.chunk) & ((1u << 30) - 1);
        if (message.sender == rank) steps.push_back({message.round, message.receiver, segment, Step::send});
        if (message.receiver == rank)
            steps.push_back({message.round, message.sender, segment, message.combine ? Step::combine : Step::replace});
    }
    const auto place = [](const Step& step) { return std::tuple(step.round, step.kind != Step::send, std::uint32_t{step.segment}); };
    std::stable_sort(steps.begin(), steps.end(), [&](const Step& one, const Step& other) { return place(one) < place(other); });
    return steps;
}

std::vector<int> order_of_arrival(std::span<const Nanoseconds> arrivals) {
    std::vector<int> order(arrivals.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int one, int other) {
        return arrivals[static_cast<std::size_t>(one)] < arrivals[static_cast<std::size_t>(other)];
    });
    return order;
}

}  // namespace rollcall::collectives
