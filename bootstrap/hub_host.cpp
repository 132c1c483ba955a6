#include "bootstrap/hub_host.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::bootstrap {
namespace {

/// How long a departure may wait for others. Without the wait, the end of a job would bring every host a message from every rank.
constexpr Nanoseconds kDeparturesTogether = 100 * kMillisecond;
/// How long a loss may wait for others with the same sentence, after the first one of them was told. When a job fails, many ranks end in
/// the same way at nearly the same time.
constexpr Nanoseconds kLossesTogether = 20 * kMillisecond;

}  // namespace

HubHost::HubHost(Routes& routes, std::string host, Hub hub) : routes_(routes), host_(std::move(host)), hub_(std::move(hub)) {}

bool HubHost::hear_rank(int rank, const Frame& frame) {
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::exchange: {
            const auto sequence = reader.u64();
            const auto blob = reader.blob();
            reader.end();
            deliver(hub_.arrive(rank, Hub::Kind::exchange, sequence, Blob(blob.begin(), blob.end())));
            return true;
        }
        case FrameType::barrier: {
            const auto sequence = reader.u64();
            reader.end();
            deliver(hub_.arrive(rank, Hub::Kind::barrier, sequence, {}));
            return true;
        }
        case FrameType::leave: deliver(hub_.lose(rank, host_, "has left the job", false)); return true;
        default: return false;
    }
}

void HubHost::tick() {
    if (collected_until_ <= monotonic_now()) tell_collected();
}

void HubHost::tell_collected() {
    collected_until_ = kNever;
    deliver(hub_.tell_collected());
}

void HubHost::deliver(const Hub::Deliveries& deliveries) {
    using To = Hub::Delivery::To;
    for (const auto& one : deliveries) {
        switch (one.to) {
            case To::rank: routes_.to_rank(one.which, one.frame); break;
            case To::notice: routes_.notify_ranks(one.frame); break;
            case To::below: routes_.to_below(one.which, one.frame); break;
            case To::above: routes_.to_above(one.frame); break;
        }
    }
    if (!hub_.collects_losses() && !hub_.has_departures()) {
        collected_until_ = kNever;
        return;
    }
    const Nanoseconds longest = hub_.collects_losses() ? kLossesTogether : kDeparturesTogether;
    if (collected_until_ == kNever || hub_.collects_losses()) collected_until_ = std::min(collected_until_, monotonic_now() + longest);
}

}  // namespace rollcall::bootstrap
