// Blocking sends that end before their messages have been taken (runtime/messages/kept_send.hpp).
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"

namespace rollcall::model_test::decoupled {
namespace {

using runtime::Transfer;

constexpr std::uint64_t kLong = 3000;

// Two ranks, and messages from the first to the second.
struct KeptSends {
    explicit KeptSends(std::uint64_t landing = 100'000, bool decoupled = true) : simulation(options(landing, decoupled)) {}
    static Simulation::Options options(std::uint64_t landing, bool decoupled) {
        auto its = machine(2, 0, decoupled);
        its.landing_bytes = landing;
        return its;
    }
    // Begins a send, and does what Lane::send() does when its caller has waited long enough. Returns whether the caller may go.
    bool send(std::byte fill, std::uint64_t bytes = kLong) {
        data.emplace_back(bytes, fill);
        Transfer& transfer = *transfers.emplace_back(std::make_unique<Transfer>(Transfer::Direction::send, 1, simulation.world(0).group->id,
                                                                                9, transport::Bytes{data.back().data(), bytes}));
        sender().begin(transfer);
        sender().keep(transfer);
        if (!transfer.done()) return false;
        std::fill(data.back().begin(), data.back().end(), std::byte{0xee});  // its buffer belongs to the caller again
        return true;
    }
    std::vector<std::byte> receive(std::uint64_t bytes = kLong) {
        std::vector<std::byte> in(bytes);
        Transfer transfer(Transfer::Direction::receive, 0, simulation.world(1).group->id, 9, {in.data(), bytes});
        simulation.engine(1).begin(transfer);
        simulation.network().run();
        EXPECT_TRUE(transfer.done());
        return in;
    }
    void expect_nothing_left() {
        simulation.network().run();
        for (int rank = 0; rank < 2; ++rank) {
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u) << rank;
            EXPECT_EQ(simulation.engine(rank).under_way().messages, 0u) << rank;
        }
    }
    runtime::Engine& sender() { return simulation.engine(0); }
    Simulation simulation;
    std::vector<std::vector<std::byte>> data;
    std::vector<std::unique_ptr<Transfer>> transfers;
};

TEST(KeptSend, WhatWasInTheBufferArrives) {
    KeptSends job;
    ASSERT_TRUE(job.send(std::byte{7}));
    EXPECT_EQ(job.sender().under_way().messages, 0u) << "no caller waits";
    EXPECT_EQ(job.sender().landing().used(), kLong);
    EXPECT_EQ(job.receive(), std::vector<std::byte>(kLong, std::byte{7}));
    job.expect_nothing_left();
}

// More messages than may be offered at a time: some wait in the backlog when their callers go.
TEST(KeptSend, MessagesKeepTheirOrder) {
    constexpr int kMessages = 100;
    KeptSends job(3 * kMessages * kLong);
    for (int i = 0; i < kMessages; ++i) ASSERT_TRUE(job.send(static_cast<std::byte>(i))) << i;
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(job.receive(), std::vector<std::byte>(kLong, static_cast<std::byte>(i))) << i;
    job.expect_nothing_left();
}

TEST(KeptSend, TakesAtMostHalfOfTheBudget) {
    KeptSends job;
    const std::uint64_t budget = job.sender().landing().budget();
    std::uint64_t kept = 0;
    while (job.send(std::byte(kept))) ++kept;
    EXPECT_EQ(kept, budget / 2 / kLong);
    EXPECT_FALSE(job.transfers.back()->done());
    for (std::uint64_t i = 0; i <= kept; ++i) EXPECT_EQ(job.receive(), std::vector<std::byte>(kLong, std::byte(i))) << i;
    EXPECT_TRUE(job.transfers.back()->done());
    job.expect_nothing_left();
}

TEST(KeptSend, NotShortOnesAndNotWhereCallsEndWithTheirCallers) {
    KeptSends job, coupled(100'000, false);
    EXPECT_EQ(job.sender().patience(Transfer(Transfer::Direction::send, 1, 0, 0, {nullptr, 64})), kNever);
    EXPECT_LT(job.sender().patience(Transfer(Transfer::Direction::send, 1, 0, 0, {nullptr, 65})), kNever);
    EXPECT_FALSE(coupled.send(std::byte{7}));
    EXPECT_EQ(coupled.receive(), std::vector<std::byte>(kLong, std::byte{7}));
    coupled.expect_nothing_left();
}

TEST(KeptSend, ItsCallerWaitsForFiftyMicrosecondsAndTheTimeOfACopy) {
    KeptSends job;
    const auto patience = [&](std::uint64_t bytes) {
        return job.sender().patience(Transfer(Transfer::Direction::send, 1, 0, 0, {nullptr, bytes}));
    };
    EXPECT_GE(patience(kLong), 50'000);
    EXPECT_LT(patience(kLong), 60'000);
    EXPECT_GE(patience(std::uint64_t{1} << 30), 50'000 + 10'000'000) << "no memory copies 100 GB/s";
}

// A message that came earlier wants the room.
TEST(KeptSend, NotWhereAnEarlyMessageWaitsForRoom) {
    KeptSends job;
    Messages others(job.simulation);
    constexpr std::uint64_t kLanded = 20'000;
    const std::uint64_t waits = job.sender().landing().budget() - kLanded + 1;
    others.send(1, 0, 5, kLanded, 1, 0);
    others.send(1, 0, 6, waits, 2, 0);
    job.simulation.network().run();
    ASSERT_EQ(job.sender().landing().used(), kLanded);
    EXPECT_FALSE(job.send(std::byte{7})) << "although there is room";
    others.receive(0, 1, 6, waits, 0);
    job.simulation.network().run();
    EXPECT_TRUE(job.send(std::byte{8}));
    for (const int fill : {7, 8}) EXPECT_EQ(job.receive(), std::vector<std::byte>(kLong, static_cast<std::byte>(fill)));
    others.receive(0, 1, 5, kLanded, 0);
    job.simulation.network().run();
    EXPECT_EQ(job.sender().landing().used(), 0u);
}

// The receiver waits: the message is on its way when the caller wants to go. A copy would bring nothing.
TEST(KeptSend, NotWhatTheReceiverIsTaking) {
    KeptSends job;
    std::vector<std::byte> in(kLong);
    Transfer receive(Transfer::Direction::receive, 0, job.simulation.world(1).group->id, 9, {in.data(), kLong});
    job.simulation.engine(1).begin(receive);
    job.data.emplace_back(kLong, std::byte{5});
    Transfer send(Transfer::Direction::send, 1, job.simulation.world(0).group->id, 9, {job.data.back().data(), kLong});
    struct Later {
        KeptSends& job;
        Transfer& send;
        static void keep(void* self, int) {
            auto& later = *static_cast<Later*>(self);
            ASSERT_FALSE(later.send.done());
            later.job.sender().keep(later.send);
            EXPECT_FALSE(later.send.done());
            EXPECT_EQ(later.job.sender().landing().used(), 0u);
        }
    } later{job, send};
    job.sender().begin(send);
    job.simulation.network().schedule(1000, &Later::keep, &later, 0);
    job.simulation.network().run();
    EXPECT_TRUE(send.done() && receive.done());
    EXPECT_EQ(in, job.data.back());
}

TEST(KeptSend, ADeathEndsIt) {
    KeptSends job;
    for (int i = 0; i < 70; ++i) job.send(std::byte{7}, 100);  // some are in the backlog
    job.simulation.kill(1, "was killed", [](int) { return Nanoseconds{10}; });
    job.simulation.network().run();
    EXPECT_EQ(job.sender().landing().used(), 0u);
    EXPECT_EQ(job.sender().under_way().messages, 0u);
    ASSERT_TRUE(job.simulation.world(0).broken) << "the next call on the communicator tells of it";
    EXPECT_EQ(job.simulation.world(0).broken->failed_rank(), 1);
    const std::string lost = "a message of 100 bytes with tag 9 from rank 0 ";
    EXPECT_NE(std::string(job.simulation.world(0).broken->what()).find(lost), std::string::npos) << job.simulation.world(0).broken->what();
    ASSERT_TRUE(job.sender().loss());
    const std::string at_the_end = job.sender().loss()->what();
    EXPECT_NE(at_the_end.find("was killed"), std::string::npos) << at_the_end;
    EXPECT_NE(at_the_end.find(lost), std::string::npos) << at_the_end;
    EXPECT_EQ(at_the_end.find(lost), at_the_end.rfind(lost)) << "one message is named: " << at_the_end;
}

// No rank receives the message. Nothing of it is used after the end (address sanitizer).
TEST(KeptSend, AnEngineMayEndBeforeItsMessagesAreTaken) {
    KeptSends job;
    ASSERT_TRUE(job.send(std::byte{7}));
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
