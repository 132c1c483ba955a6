#include "collectives/schedules/steps.hpp"

#include <utility>

namespace rollcall::collectives {

std::vector<Step> steps_of(const Schedule& schedule, int rank) {
    std::vector<Step> steps;
    std::vector<bool> sent(static_cast<std::size_t>(schedule.segments), false);
    for (const Transfer& transfer : schedule.transfers) {
        const auto segment = static_cast<std::size_t>(transfer.segment);
        const auto bits = static_cast<std::uint32_t>(transfer.segment) & ((1u << 30) - 1);
        if (transfer.receiver == rank) {
            steps.push_back({transfer.round, transfer.sender, bits, sent[segment] ? Step::replace : Step::combine});
            sent[segment] = false;
        } else if (transfer.sender == rank) {
            steps.push_back({transfer.round, transfer.receiver, bits, Step::send});
            sent[segment] = true;
            if (steps.size() > 1 && steps[steps.size() - 2].round == transfer.round) std::swap(steps.back(), steps[steps.size() - 2]);
        }
    }
    return steps;
}

}  // namespace rollcall::collectives
