#include "runtime/engine/announcements.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

constexpr int kFirstRound = 16;
constexpr int kAll = std::numeric_limits<int>::max();
// Long enough to hear of others over a connection that is being made. 10,000 ranks are told in 36 ms, within which a caller that gives up
// waits for it (Lane::flush_failure_notices()).
constexpr Nanoseconds kPause = 4 * kMillisecond;

}  // namespace

void Announcements::begin(const CommunicatorState& communicator) {
    erase_if([&](const Announcement& other) { return other.communicator == &communicator; });  // of a later call: it is told with this one
    Announcement announcement{&communicator, communicator.broken_from, *communicator.broken, 0, 2 * kFirstRound};
    if (tell(announcement, kFirstRound)) return;
    announcement.due = engine_.machine_.now() + kPause;
    engine_.want_tick(announcement.due);
    engine_.announces_ = true;
    under_way_.push_back(std::move(announcement));
}

bool Announcements::tell(Announcement& announcement, int most) const {
    const Group& group = *announcement.communicator->group;
    const int others = group.size - 1;
    for (const int last = announcement.told + std::min(most, others - announcement.told); announcement.told < last;) {
        const int rank = (announcement.communicator->rank + ++announcement.told) % group.size;
        engine_.tell_failed(group.world_rank(rank), group.id, announcement.from, announcement.error, kTellsAll);
    }
    return announcement.told == others;
}

template <class Over>
void Announcements::erase_if(Over over) {
    for (auto each = under_way_.begin(); each != under_way_.end();) each = over(*each) ? under_way_.erase(each) : each + 1;
    engine_.announces_ = any();
}

bool Announcements::any_round() const noexcept {
    return std::any_of(under_way_.begin(), under_way_.end(), [](const Announcement& one) { return one.due != kNever; });
}

void Announcements::hear(const CommunicatorState& communicator, std::uint64_t from, int rank) {
    for (Announcement& mine : under_way_)
        if (mine.communicator == &communicator && std::pair(from, rank) < std::pair(mine.from, communicator.rank)) mine.due = kNever;
}

void Announcements::tell_before_send(int peer) {
    erase_if([&](Announcement& announcement) {
        const Group& group = *announcement.communicator->group;
        const int rank = group.rank_of(peer);
        const int place = (rank - announcement.communicator->rank + group.size) % group.size;  // so many ranks after this one
        if (rank < 0 || place <= announcement.told) return false;
        if (announcement.due != kNever) return tell(announcement, kAll);
        std::vector<int>& told = announcement.told_before_send;
        const auto found = std::lower_bound(told.begin(), told.end(), peer);
        if (found == told.end() || *found != peer) {
            told.insert(found, peer);
            engine_.tell_failed(peer, group.id, announcement.from, announcement.error, 0);
        }
        return false;
    });
}

void Announcements::end(const CommunicatorState& communicator) {
    erase_if([&](Announcement& announcement) {
        return announcement.communicator == &communicator && (announcement.due == kNever || tell(announcement, kAll));
    });
}

Nanoseconds Announcements::tick(Nanoseconds now) {
    Nanoseconds next = kNever;
    erase_if([&](Announcement& announcement) {
        if (announcement.due != kNever && now >= announcement.due) {
            if (tell(announcement, announcement.next_round)) return true;
            announcement.next_round *= 2;
            announcement.due = now + kPause;
        }
        next = std::min(next, announcement.due);
        return false;
    });
    return next;
}

}  // namespace rollcall::runtime
