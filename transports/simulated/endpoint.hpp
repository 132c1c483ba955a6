/// \file
/// One simulated rank's side of the network, for simulated_network.cpp only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "transports/simulated/simulated_network.hpp"

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

template <class F>
void SimulatedNetwork::for_each_flight(F&& visit) {
    for (auto& chunk : flight_chunks_)
        for (Flight& flight : chunk)
            if (flight.in_use) visit(flight);
}

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

    bool move_payload(int, Completion& completion, Bytes copy, Completion& heir) override {
        bool moved = false;
        network_.for_each_flight([&](Flight& flight) {
            if (flight.sender != &completion || flight.eager || flight.fetched) return;
            if (copy.data && flight.payload.data) std::memcpy(copy.data, flight.payload.data, copy.size);
            flight.payload.data = copy.data;
            flight.sender = &heir;
            moved = true;
        });
        return moved;
    }

    void add_pending(std::vector<int>& peers) const override {
        network_.for_each_flight([&](const Flight& flight) {
            if (flight.sender && flight.from == rank_) peers.push_back(flight.to);
            if (flight.receiver && flight.to == rank_) peers.push_back(flight.from);
        });
    }

    void disconnect(int peer) override {
        // One after the other, because a completion may start something else, or release another flight, whose completion is then gone.
        const auto next = [&] {
            Completion* found = nullptr;
            network_.for_each_flight([&](Flight& flight) {
                const bool between = (flight.from == rank_ && flight.to == peer) || (flight.from == peer && flight.to == rank_);
                if (found || !between || flight.eager) return;  // An eager message has already left.
                found = std::exchange(flight.sender ? flight.sender : flight.receiver, nullptr);
                if (!flight.sender && !flight.receiver)
                    flight.payload.data = flight.into.data = nullptr;  // The buffers belong to their owners again.
            });
            return found;
        };
        while (Completion* const completion = next()) completion->complete(Outcome::failed);
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
    bool shares_memory_with(int) const override { return false; }
    bool uses_tcp() const override { return false; }
    bool tells_of_puts() const override { return true; }
    int descriptor() const override { return -1; }
    bool arm() override { return true; }
    Nanoseconds now() const override { return network_.now_; }
    bool settled() const override {
        bool settled = true;
        network_.for_each_flight([&](const Flight& flight) { settled = settled && flight.from != rank_; });
        return settled;
    }
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

}  // namespace rollcall::transport
