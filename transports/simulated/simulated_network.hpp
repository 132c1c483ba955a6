/// \file
/// The simulated transport: all ranks in one process, a discrete-event queue, and a virtual clock.
///
/// A message of m bytes takes the time alpha + beta*m (Hockney). During this time it occupies a sending port of its source and a receiving
/// port of its target. Large messages are offered at no cost and begin to move when their receiver fetches them. With a landing budget of
/// zero, that is when the receiver is ready (the *blocking* model of Patarasuk and Yuan, section 3.1). With a sufficient budget, it is when
/// the message is sent (the *non-blocking* model). Ports are given out first come, first served, in the order in which transfers begin.
/// Events with the same time happen in the order in which they were posted, so that runs are deterministic. A task that waits for the end
/// of a moment (Machine::pass_moment()) goes on when no event of that time is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/huge_memory.hpp"
#include "transports/machine.hpp"
#include "transports/memory.hpp"
#include "transports/simulated/event_queue.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport {

/// The cost model. Times are in nanoseconds, sizes in bytes.
struct Model {
    double alpha = 0;         ///< Time for each message.
    double beta = 1;          ///< Time for each byte.
    double gamma = 0;         ///< Time for each byte of a copy inside a rank.
    double notice = 0;        ///< Time from a put until it is seen.
    int ports = 1;            ///< Number of messages that a rank can send at a time, and that it can receive at a time.
    bool full_duplex = true;  ///< A rank can send and receive at the same time. Otherwise a port does one of the two.
    /// A receiver can forward a message from its first bit on (section 3.1, third assumption). For the algorithm, a receive ends after
    /// alpha. The time of the rank's last bit is recorded, and an operation does not end before it.
    bool cut_through = false;

    /// T(m): the time that one message takes.
    Nanoseconds message_time(std::uint64_t bytes) const;
};

class SimulatedNetwork {
  public:
    SimulatedNetwork(int ranks, const Model& model, std::uint64_t board_bytes);
    ~SimulatedNetwork();
    SimulatedNetwork(const SimulatedNetwork&) = delete;
    SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

    Transport& at(int rank);
    Machine& machine(int rank);
    Nanoseconds now() const noexcept { return now_; }
    const Model& model() const noexcept { return model_; }

    /// Calls `action(context, rank)` at this time of the virtual clock, which must not be in the past.
    void schedule(Nanoseconds when, void (*action)(void* context, int rank), void* context, int rank);
    /// `action` is called after every event, for each rank that the event concerned. It resumes what became ready there.
    void set_settle(void (*action)(void* context, int rank), void* context) {
        settle_ = action;
        settle_context_ = context;
    }
    /// `action` is called shortly before an event that concerns this rank, and again just before it. It prefetches the rank's memory into
    /// the cache, and the second time what that memory refers to. Without it, jobs of many thousand ranks would spend most of their time
    /// waiting for memory.
    void set_prefetch(void (*action)(void* context, int rank, bool again), void* context) {
        prefetch_ = action;
        prefetch_context_ = context;
    }
    /// `action` is called after every kWatchedEvents events, to show how far a long run has come.
    void set_watch(void (*action)(void* context), void* context) {
        watch_ = action;
        watch_context_ = context;
    }
    static constexpr std::uint64_t kWatchedEvents = 1 << 16;  ///< They take some hundredths of a second.
    /// `ask` is called for each message (not for notices), to simulate jitter. It returns how many nanoseconds longer than in the model the
    /// message takes.
    void set_delay(Nanoseconds (*ask)(void* context, int from, int to), void* context) {
        delay_ = ask;
        delay_context_ = context;
    }
    /// Processes events until there are none left.
    void run();

    /// Ends the process of this rank now. No messages reach it or leave it, and its offers cannot be fetched. As with a real transport, its
    /// peers notice only when they are told, and then disconnect.
    void kill(int rank);
    bool dead(int rank) const { return !dead_.empty() && dead_[static_cast<std::size_t>(rank)]; }

    /// The time at which the last bit of all data sent to this rank so far has come in (cut-through only, else 0).
    Nanoseconds last_bit(int rank) const { return last_bit_.empty() ? 0 : last_bit_[static_cast<std::size_t>(rank)]; }
    std::uint64_t messages() const noexcept { return messages_; }  ///< Number of messages sent so far, without notices.
    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t events() const noexcept { return events_; }

  private:
    class Endpoint;
    struct Flight;
    enum class Kind : std::uint8_t { offer, eager_end, first_bit, last_bit, put, local_end, action };
    struct Event {
        Nanoseconds time;
        std::uint64_t order;
        void* subject;
        void (*action)(void*, int);
        int rank;
        Kind kind;
        bool before(const Event& other) const noexcept { return time != other.time ? time < other.time : order < other.order; }
    };

    void post(Nanoseconds when, Kind kind, void* subject, int rank = 0, void (*action)(void*, int) = nullptr);
    void post_moment_end(Flight& flight);
    void handle(const Event& event);
    void prefetch() const;
    static constexpr std::size_t kFlightAhead = 6, kRanksAhead = 3, kFramesAhead = 1;  ///< Numbers of events ahead, found by measurement.
    static constexpr std::size_t kTransferBytes = 192;  ///< Approximate size of the object that begins with a Completion.
    void prefetch_rank(int rank, bool again) const {
        if (!again) {
            const std::size_t port = static_cast<std::size_t>(rank) * static_cast<std::size_t>(model_.ports);
            foundation::prefetch(&sending_[port], 8);
            if (!receiving_.empty()) foundation::prefetch(&receiving_[port], 8);
        }
        if (prefetch_) prefetch_(prefetch_context_, rank, again);
    }
    void settle(int rank) {
        if (settle_ && !dead(rank)) settle_(settle_context_, rank);
    }
    template <class F>
    void for_each_flight(F&& visit);  ///< Defined in endpoint.hpp.
    Nanoseconds& earliest_port(std::vector<Nanoseconds>& ports, int rank);
    Nanoseconds occupy(int from, int to, std::uint64_t bytes);
    Nanoseconds delay(int from, int to) { return delay_ ? delay_(delay_context_, from, to) : 0; }
    Flight* new_flight();
    void free(Flight* flight) noexcept;

    int ranks_;
    Model model_;
    std::uint64_t board_bytes_;
    PlainMemory memory_;
    Nanoseconds now_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t events_ = 0;
    EventQueue<Event> later_;
    std::vector<Event> now_events_;  ///< The events at the present time, first in, first out.
    std::size_t now_head_ = 0;
    std::vector<Event> moment_ends_;                ///< What happens when no other event of the present time is left.
    std::vector<Nanoseconds> sending_, receiving_;  ///< The time when each port is free. receiving_ is empty for half duplex.
    std::vector<Nanoseconds> last_bit_;
    std::vector<bool> dead_;  ///< Empty until a rank has died.
    std::vector<Endpoint, HugeAllocator<Endpoint>> endpoints_;
    std::vector<std::vector<Flight, HugeAllocator<Flight>>> flight_chunks_;
    Flight* free_flights_ = nullptr;
    void (*settle_)(void*, int) = nullptr;
    void* settle_context_ = nullptr;
    void (*prefetch_)(void*, int, bool) = nullptr;
    void* prefetch_context_ = nullptr;
    void (*watch_)(void*) = nullptr;
    void* watch_context_ = nullptr;
    Nanoseconds (*delay_)(void*, int, int) = nullptr;
    void* delay_context_ = nullptr;
};

}  // namespace rollcall::transport
