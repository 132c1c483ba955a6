#include "bootstrap/hub_host.hpp"

#include <utility>

namespace rollcall::bootstrap {
namespace {

/// How long a departure may wait for others. Without the wait, the end of a job would bring every host a message from every rank.
constexpr Nanoseconds kDeparturesTogether = 100 * kMillisecond;

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
    if (departures_at_ > monotonic_now()) return;
    departures_at_ = kNever;
    deliver(hub_.tell_departures());
}

void HubHost::deliver(const Hub::Deliveries& deliveries) {
    using To = Hub::Delivery::To;
    for (const auto& one : deliveries) {
        switch (one.to) {
            case To::rank: routes_.to_rank(one.which, one.frame); break;
            case To::notice: routes_.notify_rank(one.which, one.frame); break;
            case To::below: routes_.to_below(one.which, one.frame); break;
            case To::above: routes_.to_above(one.frame); break;
        }
    }
    if (hub_.has_departures() && departures_at_ == kNever) departures_at_ = monotonic_now() + kDeparturesTogether;
}

}  // namespace rollcall::bootstrap
