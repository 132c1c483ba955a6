#include "collectives/schedules/active_set.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace rollcall::collectives {

ActiveSet::ActiveSet(std::span<const Nanoseconds> arrivals, Nanoseconds round_time) {
    const Nanoseconds first = *std::min_element(arrivals.begin(), arrivals.end());
    waiting_.reserve(arrivals.size());
    for (const Nanoseconds arrival : arrivals)
        waiting_.push_back({(arrival - first) / round_time, (arrival - first) % round_time, static_cast<int>(waiting_.size())});
    std::sort(waiting_.begin(), waiting_.end(), std::greater<>());
}

// Takes in the processes that are available before (rounds, fraction).
void ActiveSet::admit(std::int64_t rounds, Nanoseconds fraction) {
    const std::size_t before = waiting_.size();
    merged_.clear();
    auto member = members_.begin();
    while (!waiting_.empty() && std::tie(waiting_.back().rounds, waiting_.back().fraction) < std::tie(rounds, fraction)) {
        Member arrived = waiting_.back();
        waiting_.pop_back();
        arrived.rounds -= round_;
        for (; member != members_.end() && *member < arrived; ++member) merged_.push_back(*member);
        merged_.push_back(arrived);
    }
    if (waiting_.size() == before) return;
    merged_.insert(merged_.end(), member, members_.end());
    members_.swap(merged_);
}

bool ActiveSet::next(std::span<const int> held) {
    std::erase_if(members_, [&](const Member& member) { return held[static_cast<std::size_t>(member.rank)] == 0; });
    ++round_;
    for (;;) {
        if (!waiting_.empty()) {
            Member first = waiting_.back();
            if (!members_.empty() && members_.front().rounds + round_ <= first.rounds) {
                first = members_.front();
                first.rounds += round_;
                if (std::tie(waiting_.back().rounds, waiting_.back().fraction) < std::tie(first.rounds, first.fraction))
                    first = waiting_.back();
            }
            admit(first.rounds + 1, first.fraction);
        }
        if (members_.size() >= 2) break;
        if (waiting_.empty()) return false;
        // One process is alone until the next one arrives. The next round to be looked at begins no later than that arrival, and at most
        // one round time before it.
        const Member& alone = members_.front();
        const Member& next = waiting_.back();
        const std::int64_t idle = next.rounds - (alone.rounds + round_) - (next.fraction < alone.fraction ? 1 : 0);
        round_ += idle;
        idle_rounds_ += idle;
    }
    ranks_.clear();
    for (const Member& member : members_) ranks_.push_back(member.rank);
    return true;
}

}  // namespace rollcall::collectives
