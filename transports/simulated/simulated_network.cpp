#include "transports/simulated/simulated_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rollcall::transport {

// A message, a notice, or something inside a rank (a copy, the end of a moment), on its way.
struct alignas(64) SimulatedNetwork::Flight {
    // The first cache line contains all that the end of the flight needs.
    ConstBytes payload;
    Bytes into;
    Completion* sender = nullptr;
    Completion* receiver = nullptr;
    int from = 0, to = 0;
    std::uint8_t header_size = 0;
    bool in_use = false;
    bool eager = false;
    bool fetched = false;
    bool withdrawn = false;  ///< The sender gave the message up.

    Flight* next_free = nullptr;
    void* kept = nullptr;  ///< The copy of the payload of an eager message.
    std::uint64_t offset = 0;
    std::byte header[kMaximumHeader];
};

class SimulatedNetwork::Endpoint final : public Transport, public Machine {
  public:
    Endpoint(SimulatedNetwork& network, int rank) : network_(network), rank_(rank) {}

    std::string_view name() const override { return "simulated"; }
    std::uint32_t version() const override { return 1; }
    std::string description() const override { return "simulated network in virtual time"; }
    std::vector<std::byte> address() const override { return {}; }
    void connect(const std::vector<std::span<const std::byte>>&, std::shared_ptr<const void>) override {}
    void attach(Sink& sink) override { sink_ = &sink; }
    unsigned progress() override { return 0; }
    /// One piece moves and one is offered. Simulated processes are always scheduled.
    unsigned pieces_under_way() const override { return 2; }

    Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) override {
        if (network_.dead(rank_)) return Started::failed;
        Flight* flight = network_.new_flight();
        flight->from = rank_;
        flight->to = peer;
        flight->payload = payload;
        flight->sender = &completion;
        flight->header_size = static_cast<std::uint8_t>(header.size());
        std::memcpy(flight->header, header.data(), header.size());
        ++network_.messages_;
        network_.bytes_ += payload.size;
        if (path == Path::large) {
            network_.prefetch_rank(peer, false);
            network_.post(network_.now_, Kind::offer, flight);
            return Started::pending;
        }
        if (payload.data && payload.size) {
            flight->kept = std::malloc(payload.size);
            std::memcpy(flight->kept, payload.data, payload.size);
            flight->payload.data = flight->kept;
        }
        flight->eager = true;
        const Nanoseconds start = network_.occupy(rank_, peer, payload.size);
        network_.post(start + network_.model_.message_time(payload.size) + network_.delay(rank_, peer), Kind::eager_end, flight);
        return Started::pending;
    }

    Started fetch(const Offer& offer, Bytes into, Completion& completion) override {
        auto* flight = static_cast<Flight*>(offer.handle);
        if (network_.dead(flight->from) || network_.dead(rank_)) {
            flight->fetched = true;
            network_.post(network_.now_, Kind::last_bit, flight);
            return Started::failed;
        }
        flight->into = into;
        flight->receiver = &completion;
        flight->fetched = true;
        const Nanoseconds start = network_.occupy(flight->from, flight->to, flight->payload.size);
        const Nanoseconds end = start + network_.model_.message_time(flight->payload.size) + network_.delay(flight->from, flight->to);
        if (network_.model_.cut_through) {
            network_.post(start + network_.model_.message_time(0), Kind::first_bit, flight);
            Nanoseconds& last = network_.last_bit_[static_cast<std::size_t>(flight->to)];
            last = std::max(last, end);
        }
        network_.post(end, Kind::last_bit, flight);
        return Started::pending;
    }

    void decline(const Offer& offer) override {
        auto* flight = static_cast<Flight*>(offer.handle);
        flight->fetched = true;
        flight->receiver = nullptr;
        network_.post(network_.now_, Kind::last_bit, flight);
    }

    Started copy(Bytes into, ConstBytes from, Completion& completion) override {
        if (into.data && from.data && from.size) std::memcpy(into.data, from.data, from.size);
        return spend_copy(from.size, completion);
    }

    bool has_model_time() const override { return true; }
    Started spend_copy(std::uint64_t bytes, Completion& completion) override {
        const auto time = static_cast<Nanoseconds>(std::llround(network_.model_.gamma * static_cast<double>(bytes)));
        if (time == 0) return Started::done;
        network_.post(network_.now_ + time, Kind::local_end, &new_local(completion));
        return Started::pending;
    }
    Started pass_moment(Completion& completion) override {
        network_.post_moment_end(new_local(completion));
        return Started::pending;
    }

    bool release(int, Completion& completion) override {
        network_.for_each_flight([&](Flight& flight) {
            if (flight.sender == &completion) {
                flight.sender = nullptr;
                if (flight.eager) return;  // An eager message has already left.
                flight.withdrawn = true;
                flight.payload.data = nullptr;
            } else if (flight.receiver == &completion) {
                flight.receiver = nullptr;
                flight.into.data = nullptr;
            }
        });
        return true;
    }

    void add_pending(std::vector<int>& peers) const override {
        network_.for_each_flight([&](const Flight& flight) {
            if (flight.sender && flight.from == rank_) peers.push_back(flight.to);
            if (flight.receiver && flight.to == rank_) peers.push_back(flight.from);
        });
    }

    void disconnect(int peer) override {
        // In two steps, because a completion may start something else.
        std::vector<Completion*> ended;
        const auto end = [&](Completion*& completion) {
            if (completion) ended.push_back(std::exchange(completion, nullptr));
        };
        network_.for_each_flight([&](Flight& flight) {
            const bool between = (flight.from == rank_ && flight.to == peer) || (flight.from == peer && flight.to == rank_);
            if (!between || flight.eager) return;  // An eager message has already left.
            end(flight.sender);
            end(flight.receiver);
            flight.payload.data = flight.into.data = nullptr;  // The buffers belong to their owners again.
        });
        for (Completion* completion : ended) completion->complete(Outcome::failed);
        network_.settle(peer);
    }

    Memory& memory() override { return network_.memory_; }
    std::span<std::byte> board() override {
        if (!board_) board_.reset(static_cast<std::byte*>(std::calloc(1, network_.board_bytes_)));
        return {board_.get(), network_.board_bytes_};
    }
    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (network_.dead(rank_)) return;
        Flight* flight = network_.new_flight();
        flight->from = rank_;
        flight->to = peer;
        flight->eager = true;
        flight->offset = offset;
        flight->header_size = static_cast<std::uint8_t>(bytes.size());
        if (!bytes.empty()) std::memcpy(flight->header, bytes.data(), bytes.size());
        network_.post(network_.now_ + static_cast<Nanoseconds>(std::llround(network_.model_.notice)), Kind::put, flight);
    }
    PutWake put_wake(int) override { return PutWake::wakes; }
    std::byte* peer_board(int) override { return nullptr; }
    bool shares_memory() const override { return false; }
    bool tells_of_puts() const override { return true; }
    int descriptor() const override { return -1; }
    bool arm() override { return true; }
    Nanoseconds now() const override { return network_.now_; }
    bool close() override { return true; }

    Sink& sink() { return *sink_; }

  private:
    /// Something that ends at this rank without a message.
    Flight& new_local(Completion& completion) {
        Flight& flight = *network_.new_flight();
        flight.from = flight.to = rank_;
        flight.receiver = &completion;
        return flight;
    }
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    SimulatedNetwork& network_;
    int rank_;
    Sink* sink_ = nullptr;
    std::unique_ptr<std::byte, Free> board_;  ///< Made at its first use, because most ranks of a large job never use it.
};

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
    if (const Event* far = later_.ahead(kFlightAhead)) transport::prefetch(far->subject, 64);
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
        transport::prefetch(flight->receiver, kTransferBytes);
        transport::prefetch(flight->sender, kTransferBytes);
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
        // A transfer that has begun ends, but the dead rank does not notice it. Offers of the dead rank that nobody has fetched never end.
        if (flight.from == rank && !flight.fetched && !flight.eager) flight.sender = nullptr;
    });
}

template <class F>
void SimulatedNetwork::for_each_flight(F&& visit) {
    for (auto& chunk : flight_chunks_)
        for (Flight& flight : chunk)
            if (flight.in_use) visit(flight);
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
    if (free_flights_) transport::prefetch(free_flights_, 128);
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
