#include "transports/simulated/simulated_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "transports/simulated/endpoint.hpp"

namespace rollcall::transport {

Nanoseconds Model::message_time(std::uint64_t bytes) const {
    return static_cast<Nanoseconds>(std::llround(alpha + beta * static_cast<double>(bytes)));
}

SimulatedNetwork::SimulatedNetwork(int ranks, const Model& model, std::uint64_t board_bytes)
    : ranks_(ranks), model_(model), board_bytes_(board_bytes) {
    const std::size_t ports = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(model.ports);
    sending_.assign(ports, 0);
    if (model.full_duplex) receiving_.assign(ports, 0);
    if (model.cut_through) last_bit_.assign(static_cast<std::size_t>(ranks), 0);
    endpoints_.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) endpoints_.emplace_back(*this, rank);
}

SimulatedNetwork::~SimulatedNetwork() {
    for (auto& chunk : flight_chunks_)
        for (Flight& flight : chunk)
            if (flight.in_use) std::free(flight.kept);
}

Transport& SimulatedNetwork::at(int rank) { return endpoints_[static_cast<std::size_t>(rank)]; }
Machine& SimulatedNetwork::machine(int rank) { return endpoints_[static_cast<std::size_t>(rank)]; }

void SimulatedNetwork::schedule(Nanoseconds when, void (*action)(void*, int), void* context, int rank) {
    post(std::max(when, now_), Kind::action, context, rank, action);
}

void SimulatedNetwork::post(Nanoseconds when, Kind kind, void* subject, int rank, void (*action)(void*, int)) {
    const Event event{when, order_++, subject, action, rank, kind};
    if (when == now_)
        now_events_.push_back(event);
    else
        later_.push(event);
}

void SimulatedNetwork::post_moment_end(Flight& flight) {
    moment_ends_.push_back({now_, order_++, &flight, nullptr, flight.to, Kind::local_end});
}

void SimulatedNetwork::run() {
    for (;;) {
        // Events with the same time happen in the order in which they were posted. Those in `later_` were posted before the present time
        // and come first.
        while (!later_.empty() && later_.top().time == now_) {
            const Event event = later_.top();
            later_.pop();
            prefetch();
            handle(event);
        }
        if (now_head_ < now_events_.size()) {
            const Event event = now_events_[now_head_++];
            if (now_head_ == now_events_.size()) {
                now_events_.clear();
                now_head_ = 0;
            }
            handle(event);
            continue;
        }
        if (!moment_ends_.empty()) {
            now_events_.swap(moment_ends_);
            continue;
        }
        if (later_.empty()) return;
        now_ = later_.top().time;
    }
}

// Prefetches in steps: first the object that an event refers to, and a few events later what that object refers to.
void SimulatedNetwork::prefetch() const {
    if (const Event* far = later_.ahead(kFlightAhead)) foundation::prefetch(far->subject, 64);
    for (const bool again : {false, true}) {
        const Event* near = later_.ahead(again ? kFramesAhead : kRanksAhead);
        if (!near) continue;
        if (near->kind == Kind::action) {
            prefetch_rank(near->rank, again);
            continue;
        }
        const auto* flight = static_cast<const Flight*>(near->subject);
        prefetch_rank(flight->to, again);
        if (near->kind == Kind::put) continue;
        prefetch_rank(flight->from, again);
        if (again) continue;
        // A completion begins a transfer object, which takes a few cache lines.
        foundation::prefetch(flight->receiver, kTransferBytes);
        foundation::prefetch(flight->sender, kTransferBytes);
    }
}

void SimulatedNetwork::handle(const Event& event) {
    if (++events_ % kWatchedEvents == 0 && watch_) watch_(watch_context_);
    auto* flight = static_cast<Flight*>(event.subject);
    switch (event.kind) {
        case Kind::offer: {
            const int to = flight->to;
            if (dead(to)) return;  // The sender waits until it is told of the death.
            endpoints_[static_cast<std::size_t>(to)].sink().on_offer(
                {flight->header, flight->header_size},
                Offer{.handle = flight, .size = flight->payload.size, .phantom = flight->payload.data == nullptr});
            settle(to);
            return;
        }
        case Kind::eager_end: {
            const int from = flight->from, to = flight->to;
            if (flight->sender) flight->sender->complete(Outcome::ok);
            if (!dead(to))
                endpoints_[static_cast<std::size_t>(to)].sink().on_message({flight->header, flight->header_size}, flight->payload);
            free(flight);
            settle(to);
            settle(from);
            return;
        }
        case Kind::first_bit: {
            // The sender may forward data whose last bit it has not received in the model. Its buffer holds the data all the same, because
            // its own receive ended in this way.
            Completion* const receiver = std::exchange(flight->receiver, nullptr);
            if (!receiver) return;  // The receiver was disconnected.
            if (flight->into.data && flight->payload.data) std::memcpy(flight->into.data, flight->payload.data, flight->payload.size);
            receiver->complete(flight->withdrawn ? Outcome::withdrawn : Outcome::ok);
            settle(flight->to);
            return;
        }
        case Kind::last_bit: {
            const int from = flight->from, to = flight->to;
            if (flight->receiver) {
                if (flight->into.data && flight->payload.data) std::memcpy(flight->into.data, flight->payload.data, flight->payload.size);
                flight->receiver->complete(flight->withdrawn ? Outcome::withdrawn : Outcome::ok);
            }
            if (flight->sender) flight->sender->complete(Outcome::ok);
            free(flight);
            settle(to);
            settle(from);
            return;
        }
        case Kind::put: {
            const int to = flight->to;
            if (dead(to)) return free(flight);
            Endpoint& target = endpoints_[static_cast<std::size_t>(to)];
            const std::uint64_t offset = flight->offset, size = flight->header_size;
            std::memcpy(target.board().data() + offset, flight->header, size);
            free(flight);
            target.sink().on_board_changed(offset, size);
            settle(to);
            return;
        }
        case Kind::local_end: {
            const int rank = flight->to;
            if (flight->receiver) flight->receiver->complete(Outcome::ok);
            free(flight);
            settle(rank);
            return;
        }
        case Kind::action:
            if (dead(event.rank)) return;
            event.action(event.subject, event.rank);
            settle(event.rank);
            return;
    }
}

void SimulatedNetwork::kill(int rank) {
    dead_.resize(static_cast<std::size_t>(ranks_));
    dead_[static_cast<std::size_t>(rank)] = true;
    for_each_flight([&](Flight& flight) {
        // A transfer that has begun ends, but the dead rank does not notice it. Offers of the dead rank that were not fetched never end.
        if (flight.from == rank && !flight.fetched && !flight.eager) flight.sender = nullptr;
    });
}

Nanoseconds& SimulatedNetwork::earliest_port(std::vector<Nanoseconds>& ports, int rank) {
    const auto first = ports.begin() + static_cast<std::ptrdiff_t>(rank) * model_.ports;
    return *std::min_element(first, first + model_.ports);
}

// Reserves a port at both ends for the time of a message. Returns the time at which the message starts.
Nanoseconds SimulatedNetwork::occupy(int from, int to, std::uint64_t bytes) {
    Nanoseconds& source = earliest_port(sending_, from);
    Nanoseconds& target = earliest_port(model_.full_duplex ? receiving_ : sending_, to);
    const Nanoseconds start = std::max({now_, source, target});
    source = target = start + model_.message_time(bytes);
    return start;
}

SimulatedNetwork::Flight* SimulatedNetwork::new_flight() {
    if (!free_flights_) {
        // Small jobs need few flights. For large jobs the chunks fill whole huge pages.
        constexpr std::size_t kSmall = 256, kLarge = HugeAllocator<Flight>::kHugePage / sizeof(Flight);
        for (Flight& flight : flight_chunks_.emplace_back(flight_chunks_.size() < 16 ? kSmall : kLarge)) {
            flight.next_free = free_flights_;
            free_flights_ = &flight;
        }
    }
    Flight* flight = free_flights_;
    free_flights_ = flight->next_free;
    if (free_flights_) foundation::prefetch(free_flights_, 128);
    flight->in_use = true;
    return flight;
}

void SimulatedNetwork::free(Flight* flight) noexcept {
    if (flight->eager) std::free(std::exchange(flight->kept, nullptr));
    flight->payload = {};
    flight->into = {};
    flight->sender = flight->receiver = nullptr;
    flight->in_use = flight->fetched = flight->eager = flight->withdrawn = false;
    flight->next_free = free_flights_;
    free_flights_ = flight;
}

}  // namespace rollcall::transport
