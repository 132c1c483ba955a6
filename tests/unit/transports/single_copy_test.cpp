// Large messages that the receiver reads out of the sender's memory (transports/single_copy.hpp), over a wire made of two queues.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/random.hpp"
#include "tests/unit/transports/wire.hpp"
#include "transports/process_memory.hpp"
#include "transports/single_copy.hpp"

namespace rollcall::transport {
namespace {

struct End final : Completion {
    std::optional<Outcome> outcome;
    int times = 0;
    void complete(Outcome its) noexcept override { outcome = its, ++times; }
};

struct Receiver final : Sink {
    std::vector<std::string> messages;
    std::vector<std::pair<std::string, Offer>> offers;
    static std::string text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
    void on_message(std::span<const std::byte> header, ConstBytes) noexcept override { messages.push_back(text(header)); }
    void on_offer(std::span<const std::byte> header, const Offer& offer) noexcept override {
        offers.emplace_back(text(header), offer);
        offers.back().second.peer = 0;
    }
    void on_peer_unreachable(int, std::string_view) noexcept override {}
    void on_deaf(int) noexcept override {}
    void on_board_changed(std::uint64_t, std::uint64_t) noexcept override {}
};

constexpr std::uint64_t kAtOnce = 1000;

// Rank 0 sends to rank 1, both in this process.
struct SingleCopyTest : testing::Test {
    SingleCopyTest() {
        auto zero = std::make_unique<Wire>(0, to_0, to_1), one = std::make_unique<Wire>(1, to_1, to_0);
        wire = zero.get();
        sender = with_single_copy(std::move(zero), 0, 2, kAtOnce);
        receiver = with_single_copy(std::move(one), 1, 2, kAtOnce);
        sender->attach(at_sender);
        receiver->attach(at_receiver);
    }
    void SetUp() override {
        if (const std::string why = why_memory_cannot_be_read(); !why.empty()) GTEST_SKIP() << why;
        handles = {sender->handle(), receiver->handle()};
    }
    void meet() {
        sender->meet(handles);
        receiver->meet(handles);
        send_small("hello");
        progress();
        at_receiver.messages.clear();
    }
    static std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
    void send_small(const std::string& header) { sender->send(1, bytes_of(header), {}, Path::eager, ignored); }
    Started send_large(const std::string& header, const std::vector<char>& data, End& end) {
        return sender->send(1, bytes_of(header), {data.data(), data.size()}, Path::large, end);
    }
    void progress() {
        while (sender->progress() + receiver->progress() > 0) {
        }
    }
    static std::vector<char> some(std::size_t size, int seed) {
        std::vector<char> data(size);
        for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(seed));
        return data;
    }
    Offer only_offer(const std::string& header) {
        progress();
        EXPECT_EQ(at_receiver.offers.size(), 1u);
        EXPECT_EQ(at_receiver.offers.at(0).first, header);
        const Offer offer = at_receiver.offers.at(0).second;
        at_receiver.offers.clear();
        return offer;
    }
    bool all_ended() {
        std::vector<int> pending;
        sender->add_pending(pending);
        receiver->add_pending(pending);
        progress();
        return pending.empty() && sender->settled() && receiver->settled();
    }

    Queue to_0, to_1;
    Receiver at_sender, at_receiver;
    End ignored;
    Wire* wire = nullptr;
    std::unique_ptr<SingleCopy> sender, receiver;
    std::vector<SingleCopyHandle> handles;
};

TEST_F(SingleCopyTest, BringsAllBytesAtAllSizes) {
    meet();
    for (const std::size_t size : {1u, 999u, 1000u, 1001u, 2000u, 12'345u}) {
        const auto data = some(size, 3);
        std::vector<char> into(size + 1, 'x');
        End sent, fetched;
        ASSERT_EQ(send_large("a header", data, sent), Started::pending);
        const Offer offer = only_offer("a header");
        EXPECT_EQ(offer.size, size);
        EXPECT_FALSE(sent.outcome);
        const Started started = receiver->fetch(offer, {into.data(), size}, fetched);
        EXPECT_EQ(started, size <= kAtOnce ? Started::done : Started::pending) << size;
        EXPECT_EQ(receiver->arm(), size <= kAtOnce) << "what is left to read keeps it from sleeping";
        progress();
        EXPECT_EQ(fetched.times, started == Started::pending);
        EXPECT_TRUE(started == Started::done || fetched.outcome == Outcome::ok);
        EXPECT_EQ(sent.outcome, Outcome::ok);
        EXPECT_EQ(sent.times, 1);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), into.begin())) << size;
        EXPECT_EQ(into.back(), 'x');
    }
    EXPECT_EQ(wire->large, 0);
    EXPECT_TRUE(all_ended());
}

TEST_F(SingleCopyTest, GoesTheUsualWayUntilThePeerHasSaidThatItCanRead) {
    const auto data = some(5000, 1);
    End sent;
    send_large("before the handles", data, sent);
    EXPECT_EQ(wire->large, 1);
    sender->meet(handles);
    receiver->meet(handles);
    send_large("asks", data, sent);
    EXPECT_EQ(wire->large, 2);
    progress();
    send_large("read", data, sent);
    EXPECT_EQ(wire->large, 2);
}

TEST_F(SingleCopyTest, GoesTheUsualWayWhereThePeerCannotRead) {
    for (int what = 0; what < 3; ++what) {
        auto wrong = handles;
        if (what == 0) wrong[0].cookie += 1;  // another process has its number by now
        if (what == 1) wrong[0].witness = 8;  // cannot be read
        if (what == 2) wrong[0].domain += 1;  // another node
        sender->meet(handles);
        receiver->meet(wrong);
        send_small("asks");
        progress();
        const int before = wire->large;
        const auto data = some(5000, 1);
        End sent;
        send_large("not read", data, sent);
        EXPECT_EQ(wire->large, before + 1) << what;
    }
}

// The bytes may be anything once the sender has its buffer back. Whatever has been read by then, no receiver takes them for the message.
TEST_F(SingleCopyTest, AGivenUpMessageIsWithdrawn) {
    meet();
    for (const bool midway : {false, true}) {
        auto data = some(5000, 2);
        std::vector<char> into(data.size());
        End sent, fetched;
        send_large("given up", data, sent);
        const Offer offer = only_offer("given up");
        if (midway) {
            ASSERT_EQ(receiver->fetch(offer, {into.data(), into.size()}, fetched), Started::pending);
            receiver->progress();
        }
        EXPECT_TRUE(sender->release(1, sent));
        std::fill(data.begin(), data.end(), 'z');
        if (!midway) {
            ASSERT_EQ(receiver->fetch(offer, {into.data(), into.size()}, fetched), Started::pending);
        }
        progress();
        EXPECT_EQ(fetched.outcome, Outcome::withdrawn);
        EXPECT_EQ(sent.times, 0) << "what is given up is not told";
    }
    // A short one, which is read at once.
    const auto data = some(10, 2);
    std::vector<char> into(data.size());
    End sent, fetched;
    send_large("short", data, sent);
    const Offer offer = only_offer("short");
    sender->release(1, sent);
    ASSERT_EQ(receiver->fetch(offer, {into.data(), into.size()}, fetched), Started::pending);
    progress();
    EXPECT_EQ(fetched.outcome, Outcome::withdrawn);
    EXPECT_TRUE(all_ended());
}

// The sender has its buffer back, and the message comes from the copy, whatever has been read of the buffer by then.
TEST_F(SingleCopyTest, AMovedMessageIsReadFromItsCopy) {
    meet();
    for (const std::size_t size : {10u, 5000u})
        for (const bool midway : {false, true}) {
            const auto what = some(size, 2);
            auto data = what;
            std::vector<char> into(size), copy(size);
            End sent, heir, fetched;
            send_large("moved", data, sent);
            const Offer offer = only_offer("moved");
            if (midway && size > kAtOnce) {
                ASSERT_EQ(receiver->fetch(offer, {into.data(), size}, fetched), Started::pending);
                receiver->progress();
            }
            ASSERT_TRUE(sender->move_payload(1, sent, {copy.data(), size}, heir));
            EXPECT_FALSE(sender->move_payload(1, sent, {copy.data(), size}, heir)) << "it is the heir's now";
            std::fill(data.begin(), data.end(), 'z');
            if (!midway || size <= kAtOnce) receiver->fetch(offer, {into.data(), size}, fetched);
            progress();
            EXPECT_EQ(fetched.outcome, Outcome::ok);
            EXPECT_EQ(into, what) << size << " " << midway;
            EXPECT_EQ(sent.times, 0);
            EXPECT_EQ(heir.outcome, Outcome::ok);
        }
    EXPECT_TRUE(all_ended());
}

TEST_F(SingleCopyTest, AGivenUpFetchIsReadNoFurther) {
    meet();
    const auto data = some(5000, 2);
    std::vector<char> into(data.size(), 'x');
    End sent, fetched;
    send_large("fetched in vain", data, sent);
    ASSERT_EQ(receiver->fetch(only_offer("fetched in vain"), {into.data(), into.size()}, fetched), Started::pending);
    EXPECT_TRUE(receiver->release(0, fetched));
    progress();
    EXPECT_EQ(fetched.times, 0);
    EXPECT_EQ(into.back(), 'x');
    EXPECT_EQ(sent.outcome, Outcome::ok);
    EXPECT_TRUE(all_ended());
}

TEST_F(SingleCopyTest, ADeclinedMessageEndsAtItsSender) {
    meet();
    const auto data = some(5000, 2);
    End sent;
    send_large("declined", data, sent);
    receiver->decline(only_offer("declined"));
    progress();
    EXPECT_EQ(sent.outcome, Outcome::ok);
    EXPECT_TRUE(all_ended());
}

// Whoever called send() may destroy the completion after the exception.
TEST_F(SingleCopyTest, AMessageForWhichThereIsNoMemoryLeavesNothing) {
    meet();
    const auto data = some(5000, 2);
    End sent;
    wire->has_memory = false;
    EXPECT_THROW(send_large("no memory", data, sent), std::bad_alloc);
    EXPECT_TRUE(all_ended());
    sender->disconnect(1);
    EXPECT_EQ(sent.times, 0);
}

TEST_F(SingleCopyTest, APeerIsAskedAgainIfThereWasNoMemoryToAsk) {
    sender->meet(handles);
    receiver->meet(handles);
    wire->has_memory = false;
    EXPECT_THROW(send_small("asks"), std::bad_alloc);
    wire->has_memory = true;
    send_small("asks");
    progress();
    const auto data = some(5000, 1);
    End sent;
    send_large("read", data, sent);
    EXPECT_EQ(wire->large, 0);
}

// Such a buffer is no reason to take the peer for lost: its process is there.
TEST_F(SingleCopyTest, ABufferThatTheKernelRefusesEndsOneFetch) {
    meet();
    for (const std::size_t size : {10u, 5000u})
        for (const bool is_senders : {false, true}) {
            const auto data = some(size, 2);
            std::vector<char> into(size);
            void* const closed = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ASSERT_NE(closed, MAP_FAILED);
            End sent, fetched;
            sender->send(1, bytes_of("refused"), {is_senders ? closed : data.data(), size}, Path::large, sent);
            ASSERT_EQ(receiver->fetch(only_offer("refused"), {is_senders ? into.data() : closed, size}, fetched), Started::pending);
            progress();
            EXPECT_EQ(fetched.outcome, Outcome::unreadable);
            EXPECT_EQ(fetched.times, 1);
            EXPECT_EQ(sent.times, 1) << "its sender waits no longer";
            ::munmap(closed, size);
        }
    const auto data = some(5000, 3);
    std::vector<char> into(data.size());
    End sent, fetched;
    send_large("the next one", data, sent);
    receiver->fetch(only_offer("the next one"), {into.data(), into.size()}, fetched);
    progress();
    EXPECT_EQ(into, data);
    EXPECT_TRUE(all_ended());
}

TEST_F(SingleCopyTest, ALostPeerEndsWhatIsPendingWithIt) {
    meet();
    const auto data = some(5000, 2);
    std::vector<char> into(data.size());
    End sent, never_fetched, fetched;
    send_large("fetched", data, sent);
    const Offer offer = only_offer("fetched");
    send_large("offered", data, never_fetched);
    const Offer other = only_offer("offered");
    ASSERT_EQ(receiver->fetch(offer, {into.data(), into.size()}, fetched), Started::pending);
    std::vector<int> pending;
    receiver->add_pending(pending);
    EXPECT_EQ(pending, std::vector<int>{0});
    receiver->disconnect(0);
    EXPECT_EQ(fetched.outcome, Outcome::failed);
    EXPECT_EQ(receiver->fetch(other, {into.data(), into.size()}, fetched), Started::failed);
    sender->disconnect(1);
    EXPECT_EQ(sent.outcome, Outcome::failed);
    EXPECT_EQ(never_fetched.outcome, Outcome::failed);
    EXPECT_TRUE(all_ended());
}

TEST_F(SingleCopyTest, ManyInAnyOrder) {
    meet();
    auto random = seeded_random();
    const auto between = [&](std::size_t least, std::size_t most) { return least + random() % (most - least + 1); };
    for (int round = 0; round < 30; ++round) {
        std::deque<std::vector<char>> data, into;
        std::deque<End> sent, fetched;
        const int count = static_cast<int>(between(1, 20));
        for (int i = 0; i < count; ++i) {
            data.push_back(some(between(1, 4000), i));
            send_large(std::to_string(i), data.back(), sent.emplace_back());
        }
        progress();
        ASSERT_EQ(at_receiver.offers.size(), static_cast<std::size_t>(count));
        auto offers = std::exchange(at_receiver.offers, {});
        while (!offers.empty()) {
            const auto at = offers.begin() + static_cast<std::ptrdiff_t>(between(0, offers.size() - 1));
            into.emplace_back(at->second.size);
            receiver->fetch(at->second, {into.back().data(), into.back().size()}, fetched.emplace_back());
            const auto number = static_cast<std::size_t>(std::stoi(at->first));
            offers.erase(at);
            if (random() % 2) continue;
            progress();
            EXPECT_EQ(into.back(), data[number]);
        }
        progress();
        for (const End& end : sent) EXPECT_EQ(end.outcome, Outcome::ok);
    }
    EXPECT_TRUE(all_ended());
}

}  // namespace
}  // namespace rollcall::transport
