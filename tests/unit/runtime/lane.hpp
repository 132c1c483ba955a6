/// \file
/// A lane over a transport without a network, for tests of the rule by which threads drive it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/alone.hpp"
#include "runtime/arrivals/board.hpp"
#include "runtime/lane/lane.hpp"
#include "transports/machine.hpp"

namespace rollcall::runtime {

inline constexpr std::uint64_t kCommunicator = 1;

/// Nothing is sent anywhere. What comes is what the test brings.
class NoNetwork final : public transport::Transport {
  public:
    explicit NoNetwork(int ranks = 3) : board_(board_bytes(static_cast<std::uint64_t>(ranks)) / 8) {}

    /// A point-to-point message without data comes from this rank. Any thread.
    void bring(int from, std::uint64_t tag) {
        const std::lock_guard lock(mutex_);
        incoming_.push_back({from, tag});
        events_.signal();
    }
    /// From now on each poll brings something that no call waits for. As with any transport, this wakes a thread that sleeps at the
    /// descriptor.
    void begin_traffic() {
        const std::lock_guard lock(mutex_);
        has_traffic_.store(true, std::memory_order_relaxed);
        events_.signal();
    }
    void end_traffic() {
        const std::lock_guard lock(mutex_);
        has_traffic_.store(false, std::memory_order_relaxed);
        if (incoming_.empty()) events_.clear();
    }
    /// Such a message comes when a thread is about to sleep.
    void bring_before_sleep(int from, std::uint64_t tag) {
        const std::lock_guard lock(mutex_);
        before_sleep_.push_back({from, tag});
    }
    static constexpr int kPollsOnItsWay = 50;  ///< A message comes in the poll of this number after it was brought.
    std::atomic<std::uint64_t> polls{0};
    transport::Sink* sink = nullptr;
    std::vector<std::byte> last_header;                  ///< Of the message that was sent last.
    transport::Path last_path = transport::Path::eager;  ///< Its path.
    int sent = 0;                                        ///< How many messages were sent.
    bool has_memory = true;                              ///< False: send() and fetch() throw std::bad_alloc.
    /// The same for long messages only.
    bool has_memory_for_long = true;
    transport::Started long_sent = transport::Started::done, fetches = transport::Started::failed;  ///< What send() and fetch() return.
    bool holds_texts = false;                  ///< Whether a short message with data stays under way.
    transport::Completion* held = nullptr;     ///< Of the last one that does.
    transport::Completion* fetched = nullptr;  ///< Of the last fetch.
    int declined = 0;                          ///< Offers.
    bool shares = false;                       ///< What shares_memory() returns.

    std::string_view name() const override { return "none"; }
    std::uint32_t version() const override { return 1; }
    std::string description() const override { return "nothing"; }
    std::vector<std::byte> address() const override { return {}; }
    void connect(const std::vector<std::span<const std::byte>>&, std::shared_ptr<const void>) override {}
    void attach(transport::Sink& its_sink) override { sink = &its_sink; }
    unsigned progress() override {
        polls.fetch_add(1, std::memory_order_relaxed);
        return deliver() + (has_traffic_.load(std::memory_order_relaxed) ? 1 : 0);
    }
    transport::Started send(int, std::span<const std::byte> header, transport::ConstBytes payload, transport::Path path,
                            transport::Completion& completion) override {
        const bool is_long = path == transport::Path::large;
        if (!has_memory || (is_long && !has_memory_for_long)) throw std::bad_alloc();
        last_header.assign(header.begin(), header.end());
        last_path = path;
        ++sent;
        if (is_long) return long_sent;
        if (!holds_texts || payload.size == 0) return transport::Started::done;
        held = &completion;
        return transport::Started::pending;
    }
    transport::Started fetch(const transport::Offer&, transport::Bytes, transport::Completion& completion) override {
        if (!has_memory) throw std::bad_alloc();
        fetched = &completion;
        return fetches;
    }
    void decline(const transport::Offer&) override { ++declined; }
    bool release(int, transport::Completion&) override { return true; }
    void add_pending(std::vector<int>&) const override {}
    void disconnect(int) override {}
    transport::Memory& memory() override { return memory_; }
    std::span<std::byte> board() override { return std::as_writable_bytes(std::span(board_)); }
    void put(int, std::uint64_t, std::span<const std::byte>) override {}
    transport::PutWake put_wake(int) override { return transport::PutWake::wakes; }
    std::byte* peer_board(int) override { return nullptr; }
    bool shares_memory() const override { return shares; }
    bool shares_memory_with(int) const override { return shares; }
    bool uses_tcp() const override { return false; }
    bool tells_of_puts() const override { return false; }
    int descriptor() const override { return events_.get(); }
    bool arm() override {
        const std::lock_guard lock(mutex_);
        if (!before_sleep_.empty()) events_.signal();
        incoming_.insert(incoming_.end(), before_sleep_.begin(), before_sleep_.end());
        before_sleep_.clear();
        return incoming_.empty() && !has_traffic_;
    }
    unsigned pieces_under_way() const override { return 1; }
    bool settled() const override { return true; }
    bool close() override { return true; }

  private:
    struct Incoming {
        int from;
        std::uint64_t tag;
    };
    // The oldest one, if there is one that has been on its way for some polls.
    unsigned deliver() {
        MessageHeader header;
        {
            const std::lock_guard lock(mutex_);
            if (incoming_.empty() || ++polls_on_its_way_ < kPollsOnItsWay) return 0;
            polls_on_its_way_ = 0;
            header.source = incoming_.front().from;
            header.tag = incoming_.front().tag;
            incoming_.pop_front();
            if (incoming_.empty() && !has_traffic_) events_.clear();
        }
        header.communicator = kCommunicator;
        header.ordinal = ordinals_[header.source]++;
        sink->on_message(std::as_bytes(std::span(&header, 1)), {});
        return 1;
    }

    std::atomic<bool> has_traffic_{false};
    transport::PlainMemory memory_;
    std::vector<std::uint64_t> board_;
    int polls_on_its_way_ = 0;
    std::mutex mutex_;
    std::deque<Incoming> incoming_, before_sleep_;
    std::map<int, std::uint32_t> ordinals_;
    EventDescriptor events_;
};

/// Only what hangs takes that long.
inline constexpr auto kPatience = std::chrono::seconds(20);

/// A call for which there is no memory.
struct Throws final : Waitable {
    void begin(Engine&) override { throw std::bad_alloc(); }
    void abandon(Engine&, const Error& error) override {
        set_error(error);
        set_done();
    }
};

inline IdlePolicy host_driven(Nanoseconds spin = 100'000) {
    IdlePolicy policy;
    policy.background = false;
    policy.spin = spin;
    return policy;
}

/// The engine of rank 0 of a job of three.
struct EngineUnderTest {
    static Engine::Options options() {
        Engine::Options options;
        options.size = 3;
        options.landing_bytes = 1 << 20;
        return options;
    }
    static Transfer receive(int from, std::uint64_t tag) { return Transfer(Transfer::Direction::receive, from, kCommunicator, tag, {}); }

    NoNetwork network;
    transport::RealMachine machine;
    FrameArena arena;
    Engine engine{network, machine, arena, options()};
};

/// The same with a lane.
struct LaneUnderTest : EngineUnderTest {
    explicit LaneUnderTest(const IdlePolicy& policy) : lane(engine, bootstrap, policy) {}
    bootstrap::Alone bootstrap;
    Lane lane;
};

}  // namespace rollcall::runtime
