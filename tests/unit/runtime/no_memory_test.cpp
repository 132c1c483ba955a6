// Calls that throw because there is no memory. Their callers destroy what they began, so nothing may refer to it any more.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "tests/unit/runtime/lane.hpp"
#include "tests/unit/runtime/private_memory.hpp"

namespace rollcall::runtime {
namespace {

using transport::Started;

constexpr int kPeer = 1;
constexpr std::uint64_t kTag = 7;
constexpr std::uint64_t kLong = 2 << 20;         // more than could land
constexpr std::uint64_t kMostOfAll = 400 << 10;  // of the room where messages land

struct NoMemory : testing::Test, EngineUnderTest {
    std::unique_ptr<Transfer> transfer(Transfer::Direction direction) {
        const transport::Bytes bytes{buffer.data(), buffer.size()};
        return std::make_unique<Transfer>(direction, kPeer, kCommunicator, kTag, bytes);
    }
    std::unique_ptr<Transfer> send() { return transfer(Transfer::Direction::send); }
    std::unique_ptr<Transfer> receive() { return transfer(Transfer::Direction::receive); }

    // Messages to this rank wait at the peer.
    void hear_of_backlog() {
        CollectiveHeader header;
        header.base.kind = MessageKind::backlog;
        header.base.source = kPeer;
        header.base.flags = kHasBacklog;
        engine.on_message(std::as_bytes(std::span(&header, 1)), {});
    }
    MessageHeader header() {
        MessageHeader header;
        header.source = kPeer;
        header.communicator = kCommunicator;
        header.tag = kTag;
        header.ordinal = ordinal++;
        return header;
    }
    void bring() {
        const MessageHeader its = header();
        engine.on_message(std::as_bytes(std::span(&its, 1)), {});
    }
    void offer(std::uint64_t size) {
        const MessageHeader its = header();
        engine.on_offer(std::as_bytes(std::span(&its, 1)), {.handle = nullptr, .size = size});
    }

    std::vector<std::byte> buffer = std::vector<std::byte>(kLong);
    std::uint32_t ordinal = 0;
};

TEST_F(NoMemory, LeavesNoReceive) {
    hear_of_backlog();
    network.has_memory = false;
    EXPECT_THROW(engine.receive(*receive()), std::bad_alloc);
    network.has_memory = true;
    bring();
    EXPECT_EQ(engine.early_messages(), 1u);
    const auto again = receive();
    engine.receive(*again);
    EXPECT_TRUE(again->done());
}

TEST_F(NoMemory, LeavesNoPeek) {
    hear_of_backlog();
    network.has_memory = false;
    EXPECT_THROW(engine.peek(*std::make_unique<Peek>(MatchKey{kCommunicator, 0, kTag, kPeer})), std::bad_alloc);
    network.has_memory = true;
    bring();
    EXPECT_EQ(engine.early_messages(), 1u);
}

TEST_F(NoMemory, LeavesTheMessageToTheNextReceive) {
    offer(kLong);
    offer(kLong - 1);
    network.has_memory = false;
    EXPECT_THROW(engine.receive(*receive()), std::bad_alloc);
    EXPECT_EQ(engine.early_messages(), 2u);
    network.has_memory = true;
    network.fetches = Started::done;
    for (const std::uint64_t size : {kLong, kLong - 1}) {
        const auto again = receive();
        engine.receive(*again);
        ASSERT_TRUE(again->done());
        EXPECT_EQ(again->received, size);
    }
}

TEST_F(NoMemory, LeavesTheMessageThatWasToLand) {
    network.has_memory = false;
    offer(100);
    EXPECT_EQ(engine.landing().used(), 0u);
    engine.tick(engine.due());
    EXPECT_EQ(engine.landing().used(), 0u);

    network.has_memory = true;
    network.fetches = Started::pending;
    engine.tick(engine.due());
    EXPECT_GT(engine.landing().used(), 0u) << "it lands after a while";
    ASSERT_NE(network.fetched, nullptr);
    const auto again = receive();
    engine.receive(*again);
    network.fetched->complete(transport::Outcome::ok);
    EXPECT_TRUE(again->done());
    EXPECT_EQ(engine.landing().used(), 0u);
}

TEST_F(NoMemory, DoesNotKeepAReceiveFromTheMessageThatWasToLand) {
    network.has_memory = false;
    offer(100);
    network.has_memory = true;
    network.fetches = Started::done;
    const auto at_once = receive();
    engine.receive(*at_once);
    EXPECT_TRUE(at_once->done());
    EXPECT_EQ(engine.early_messages(), 0u);
}

// The receive of one message makes room for another one, which cannot be fetched.
TEST_F(NoMemory, TakesNoMessageBackThatWasReceived) {
    network.fetches = Started::done;
    offer(kMostOfAll);
    offer(kMostOfAll - 1);
    ASSERT_EQ(engine.landing().used(), kMostOfAll);
    network.has_memory = false;
    const auto first = receive(), second = receive();
    engine.receive(*first);
    EXPECT_TRUE(first->done());
    EXPECT_EQ(first->received, kMostOfAll);
    EXPECT_EQ(engine.early_messages(), 1u);
    EXPECT_EQ(engine.landing().used(), 0u);

    network.has_memory = true;
    engine.tick(engine.due());
    EXPECT_EQ(engine.landing().used(), kMostOfAll - 1);
    engine.receive(*second);
    EXPECT_TRUE(second->done());
    EXPECT_EQ(second->received, kMostOfAll - 1);
}

// The reader of a letter sleeps, and there is no memory to wake it. The letter has been sent all the same.
TEST_F(NoMemory, SendsALetterOnce) {
    network.shares = true;
    const node::PrivateMemory memory({8, 2, 2}, 2);
    const std::vector<int> on_node{0, 1, -1};
    node::NodeMemory own(memory.shared(), 0, on_node, engine.landing()), other(memory.shared(), 1, on_node, engine.landing());
    other.inbox().open();
    engine.set_node(&own);
    int letters = 0;
    const auto take = [&] {
        const auto deliver = [&](auto, auto) { ++letters; };
        other.inbox().take([](auto, auto) { return true; }, deliver);
    };
    buffer.clear();
    for (std::uint32_t i = 0; i < node::kMessagesBeforeMail; ++i) engine.send(*send());
    take();
    ASSERT_EQ(letters, 1) << "the others went over the network";

    other.inbox().set_sleeping(true);
    network.has_memory = false;
    const int sent = network.sent;
    const auto letter = send();
    engine.send(*letter);
    EXPECT_TRUE(letter->done());
    engine.tick(engine.due());
    network.has_memory = true;
    engine.tick(engine.due());
    EXPECT_EQ(network.sent, sent + 1) << "now the reader is woken";
    engine.tick(engine.due());
    EXPECT_EQ(network.sent, sent + 1);
    take();
    EXPECT_EQ(letters, 2);
    engine.set_node(nullptr);
}

TEST_F(NoMemory, LeavesSendsThatWaitInTheirOrder) {
    network.long_sent = Started::pending;
    std::vector<std::unique_ptr<Transfer>> sends;
    const auto all_that_may_wait_at_the_peer = 64;
    for (int i = 0; i < all_that_may_wait_at_the_peer; ++i) engine.send(*sends.emplace_back(send()));

    network.has_memory = false;
    EXPECT_THROW(engine.send(*send()), std::bad_alloc) << "the peer cannot be told that messages wait here";
    network.has_memory = true;
    for (int i = 0; i < 2; ++i) {
        engine.send(*sends.emplace_back(send()));
        ASSERT_EQ(sends.back()->stage, Transfer::Stage::queued);
    }
    Transfer &first = *sends[64], &second = *sends[65];

    const Error given_up(ErrorCode::state, "given up");
    network.has_memory_for_long = false;
    EXPECT_THROW(engine.abandon(*sends[0], given_up), std::bad_alloc) << "it makes room for the first one that waits";
    EXPECT_TRUE(sends[0]->done());
    EXPECT_EQ(first.stage, Transfer::Stage::queued);
    network.has_memory_for_long = true;
    engine.abandon(*sends[1], given_up);
    EXPECT_EQ(first.stage, Transfer::Stage::moving);
    EXPECT_EQ(second.stage, Transfer::Stage::moving);
    EXPECT_LT(first.ordinal, second.ordinal);
    for (const auto& send : sends) engine.abandon(*send, given_up);
}

// A control message carries the credit for what has been received. If it cannot be sent, the next message carries the credit.
TEST_F(NoMemory, LosesNoCreditWithAControlMessage) {
    Transfer receive = LaneUnderTest::receive(1, 7);
    engine.begin(receive);
    network.bring(1, 7);
    while (!receive.done()) engine.progress();
    CollectiveHeader header;
    header.base.kind = MessageKind::backlog;
    header.base.flags = kHasBacklog;
    header.base.source = 1;
    network.sink->on_message(std::as_bytes(std::span(&header, 1)), {});

    network.has_memory = false;
    EXPECT_THROW(engine.size_of_next({kCommunicator, 0, 8, 1}), std::bad_alloc) << "a look asks for a message in the backlog";
    network.has_memory = true;
    Transfer send(Transfer::Direction::send, 1, kCommunicator, 7, {});
    engine.begin(send);
    CompactHeader sent;
    ASSERT_EQ(network.last_header.size(), sizeof sent);
    std::memcpy(&sent, network.last_header.data(), sizeof sent);
    EXPECT_EQ(sent.credit * kCreditUnit, kEntryCharge);

    network.last_header.clear();
    EXPECT_EQ(engine.size_of_next({kCommunicator, 0, 8, 1}), std::nullopt);
    EXPECT_EQ(network.last_header.size(), sizeof(CollectiveHeader)) << "the next look asks";
}

}  // namespace
}  // namespace rollcall::runtime
