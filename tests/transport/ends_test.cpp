// Tests what every transport promises about sleeping owners, and peers that go.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <poll.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;
using transport::PutWake;

class Ends : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Transport, Ends, testing::ValuesIn(ways()), &name_of_way);

TEST_P(Ends, KnowWhetherMessagesGoThroughSharedMemory) {
    World world(GetParam(), 3);
    for (int rank = 0; rank < world.size(); ++rank)
        for (int peer = 0; peer < world.size(); ++peer)
            EXPECT_EQ(world[rank].transport->shares_memory_with(peer), GetParam().shares_memory()) << rank << ", " << peer;
    EXPECT_TRUE(world.close());
}

bool is_readable(int descriptor, int milliseconds) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, milliseconds) > 0;
}

// Lets all traffic come to rest and prepares a rank to sleep.
bool falls_asleep(World& world, int rank) {
    const auto quiet = std::chrono::milliseconds(5);
    auto since = std::chrono::steady_clock::now();
    for (const auto begin = since; std::chrono::steady_clock::now() - begin < std::chrono::seconds(20);) {
        bool any = false;
        for (int each = 0; each < world.size(); ++each) any = world[each].transport->progress() > 0 || any;
        if (any) since = std::chrono::steady_clock::now();
        if (std::chrono::steady_clock::now() - since > quiet && world[rank].transport->arm()) return true;
    }
    return false;
}

TEST_P(Ends, ThatSleepAreWokenByWhatComes) {
    World world(GetParam(), 2);
    const int descriptor = world[1].transport->descriptor();
    if (descriptor < 0) GTEST_SKIP() << "this transport cannot be slept on";
    ASSERT_TRUE(world.meet(0, 1));
    std::vector<std::byte> payload = pattern(200'000, 1), landed(payload.size());
    const auto wakes = [&](const char* by) {
        for (int tries = 0; tries < 5'000; ++tries) {
            world[0].transport->progress();
            if (is_readable(descriptor, 1)) return true;
        }
        ADD_FAILURE() << "not woken by " << by;
        return false;
    };
    for (const std::size_t size : {8u, 8000u}) {
        ASSERT_TRUE(falls_asleep(world, 1));
        Told sent;
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, Path::eager, sent));
        ASSERT_TRUE(wakes("an eager message"));
        ASSERT_TRUE(world.until([&] { return sent.ended() && !world[1].heard.empty(); }));
        world[1].heard.clear();
    }
    ASSERT_TRUE(falls_asleep(world, 1));
    Told sent, fetched;
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
    ASSERT_TRUE(wakes("an offer"));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    // The receiver fetches, and sleeps until something moves.
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
    while (!fetched.ended()) {
        while (world[1].transport->progress() > 0) {
        }
        if (!fetched.ended() && world[1].transport->arm()) {
            ASSERT_TRUE(wakes("the data of a fetch"));
        }
    }
    EXPECT_TRUE(landed == payload);
    ASSERT_TRUE(world.until([&] { return sent.ended(); }));
    if (world[0].transport->put_wake(1) == PutWake::wakes) {
        ASSERT_TRUE(falls_asleep(world, 1));
        const std::uint64_t word = 9;
        world[0].transport->put(1, 512, std::as_bytes(std::span(&word, 1)));
        ASSERT_TRUE(wakes("a put"));
    }
    EXPECT_TRUE(world.close());
}

// UCX 1.13 ends a process that destroys a fetch which is under way. (libfabric 1.17 with reads does so, too: docs/transports.md.)
TEST_P(Ends, ThatHaveOnlyFetchedMayGoInTheMiddle) {
    if (GetParam().reads) GTEST_SKIP() << "libfabric itself may end the process";
    const std::vector<std::byte> payload = pattern(4'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    Told sent, fetched;
    World world(GetParam(), 2);
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
    for (int i = 0; i < 3; ++i) world.progress();
}

TEST_P(Ends, ThatSleepAreWokenByTheFirstMessageThereIs) {
    World world(GetParam(), 2);
    const int descriptor = world[1].transport->descriptor();
    if (descriptor < 0) GTEST_SKIP() << "this transport cannot be slept on";
    ASSERT_TRUE(falls_asleep(world, 1));
    const auto payload = pattern(100, 1);
    Told sent;
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::eager, sent));
    // Each of them sleeps until its descriptor becomes readable.
    const auto sleep = [](End& end) {
        do {
            while (end.transport->progress() > 0) {
            }
        } while (!end.transport->arm());
    };
    sleep(world[0]);
    for (int looks = 0; world[1].heard.empty() && looks < 1000; ++looks)
        for (int rank = 0; rank < 2; ++rank)
            if (is_readable(world[rank].transport->descriptor(), 20)) sleep(world[rank]);
    EXPECT_EQ(world[1].heard.size(), 1u);
    ASSERT_TRUE(world.until([&] { return sent.ended(); }));
    EXPECT_TRUE(world.close());
}

TEST_P(Ends, ThatAreDisconnectedEndWhatIsPending) {
    World world(GetParam(), 3);
    ASSERT_TRUE(world.meet(0, 1));
    const auto payload = pattern(1'000'000, 1);
    Told offered, fetched, later;
    offered.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, offered));
    Told to_zero;
    to_zero.note(world[1].transport->send(0, header_of(1, 1), {payload.data(), payload.size()}, Path::large, to_zero));
    ASSERT_TRUE(world.until([&] { return !world[0].heard.empty(); }));
    std::vector<std::byte> landed(payload.size());
    fetched.note(world[0].transport->fetch(world[0].heard.front().offer, {landed.data(), landed.size()}, fetched));
    std::vector<int> pending;
    world[0].transport->add_pending(pending);
    EXPECT_FALSE(pending.empty());
    world[0].transport->disconnect(1);
    ASSERT_TRUE(world.until(0, [&] { return offered.ended() && fetched.ended(); }));
    EXPECT_EQ(offered.outcome, Outcome::failed);
    EXPECT_EQ(offered.times, 1);
    if (!GetParam().is_simulated()) {  // In simulation, only a rank that was killed is gone.
        later.note(world[0].transport->send(1, header_of(0, 2), {}, Path::eager, later));
        ASSERT_TRUE(later.ended());
        EXPECT_EQ(later.outcome, Outcome::failed);
    }
    pending.clear();
    world[0].transport->add_pending(pending);
    EXPECT_TRUE(pending.empty());
    // The other peers are not affected.
    EXPECT_TRUE(world.meet(0, 2));
}

TEST_P(Ends, SettleWhenOffersThatWereGivenUpAreDeclined) {
    World world(GetParam(), 2);
    ASSERT_TRUE(world.meet(0, 1));
    std::vector<std::byte> payload = pattern(1'000'000, 1);
    Told offered;
    offered.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, offered));
    world[0].transport->release(1, offered);
    EXPECT_FALSE(world[0].transport->settled());
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    EXPECT_FALSE(world[0].transport->settled());
    world[1].transport->decline(world[1].heard.front().offer);
    EXPECT_TRUE(world.close());
}

// The peer goes on: for example, its host did not answer in time.
TEST_P(Ends, ThatGiveUpAPeerHaveTheirBuffersBack) {
    if (GetParam().is_simulated()) GTEST_SKIP() << "its peers are never gone";
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    // Rollcall lets UCX read the program's buffers only over RDMA.
    if (GetParam().direct && major == 1 && minor == 16) GTEST_SKIP() << "UCX 1.16 may crash in the progress of tcp";
    World world(GetParam(), 2);
    ASSERT_TRUE(world.meet(0, 1));
    constexpr std::size_t kSize = 4 << 20;  // Small enough for all RMA reads of it to begin at once.
    const std::byte before{0x11}, after{0xee};
    std::vector<std::byte> payload(kSize, before), landed(kSize);
    Told sent, fetched;
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), kSize}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), kSize}, fetched));
    const auto has_begun = [&] { return fetched.ended() || landed.front() == before; };
    ASSERT_TRUE(world.until(has_begun));
    for (int i = 0; i < 10; ++i) world[0].transport->progress();  // It sends what the network takes. The peer takes nothing.
    world[0].transport->disconnect(1);
    ASSERT_TRUE(world.until(0, [&] { return sent.ended(); }));
    std::fill(payload.begin(), payload.end(), after);
    for (int i = 0; i < 2000; ++i) world.progress();
    world[1].transport->disconnect(0);
    ASSERT_TRUE(world.until([&] { return fetched.ended(); }));
    if (fetched.outcome == Outcome::ok) {
        EXPECT_EQ(std::count(landed.begin(), landed.end(), before), static_cast<std::ptrdiff_t>(kSize));
    }
}

// A transport releases everything that it holds. ROLLCALL_TEST_WORLDS: how often two ends meet; with 5000 there are 10,000 connections.
TEST_P(Ends, ComeAndGo) {
    const auto once = [&] {
        World world(GetParam(), 2);
        ASSERT_TRUE(world.meet(0, 1));
        EXPECT_TRUE(world.close());
    };
    const char* const asked = std::getenv("ROLLCALL_TEST_WORLDS");
    const int worlds = asked ? std::stoi(asked) : 12;
    for (int i = 0; i < std::max(3, worlds / 10); ++i) once();
    const std::size_t descriptors = entries("/proc/self/fd"), memory = resident_bytes();
    for (int i = 0; i < worlds; ++i) once();
    EXPECT_LE(entries("/proc/self/fd"), descriptors + 4);
    const double grown = (static_cast<double>(resident_bytes()) - static_cast<double>(memory)) / worlds;
    if (asked) std::printf("%.0f bytes more for each time\n", grown);
    if (worlds >= 1000) {
        EXPECT_LE(grown, 4096) << "bytes of memory for each time";
    }
    const std::string own = std::to_string(::getpid()) + ":";  // libfabric's names begin so
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
        EXPECT_FALSE(entry.path().filename().string().starts_with(own)) << entry.path();
}

// For example after a death. What such ends leave must be gone when the next one is made, or the process runs out of descriptors.
TEST_P(Ends, ThatAreNotClosedLeaveNothingForGood) {
    if (may_end_the_process(GetParam())) GTEST_SKIP() << "UCX may end the process if its objects are destroyed";
    const std::vector<std::byte> payload = pattern(1'000'000, 1);
    const auto once = [&] {
        Told sent[3], offered;
        World world(GetParam(), 2);
        ASSERT_TRUE(world.meet(0, 1));
        for (int rank = 0; rank < 2; ++rank) world[rank].transport->peer_board(1 - rank);
        for (Told& told : sent) told.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), 8000}, Path::eager, told));
        offered.note(world[0].transport->send(1, header_of(0, 2), {payload.data(), payload.size()}, Path::large, offered));
        ASSERT_TRUE(world.until([&] { return std::ranges::any_of(world[1].heard, &Heard::offered); }));
    };
    for (int i = 0; i < 2; ++i) once();
    const std::size_t descriptors = entries("/proc/self/fd");
    for (int i = 0; i < 5; ++i) once();
    EXPECT_LE(entries("/proc/self/fd"), descriptors + 4);
}

}  // namespace

}  // namespace rollcall::test
