// Tests what every transport promises about sleeping owners, and peers that go.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/catalogue.hpp"

extern char** environ;

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;
using transport::PutWake;

class Ends : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Transport, Ends, testing::ValuesIn(ways()), &name_of_way);

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

// A separate process, which is killed later. It writes its address, reads that of rank 0, and sends a message.
struct Child {
    explicit Child(const Way& way) {
        int up[2], down[2];
        EXPECT_EQ(::pipe(up), 0);
        EXPECT_EQ(::pipe(down), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, down[0], 0);
        posix_spawn_file_actions_adddup2(&actions, up[1], 3);
        const std::string self = std::filesystem::read_symlink("/proc/self/exe").string(), name = way.name;
        char* const arguments[] = {const_cast<char*>(self.c_str()), const_cast<char*>("--peer"), const_cast<char*>(name.c_str()), nullptr};
        EXPECT_EQ(::posix_spawn(&process, self.c_str(), &actions, nullptr, arguments, environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(up[1]);
        ::close(down[0]);
        from = up[0];
        to = down[1];
    }
    ~Child() {
        kill();
        ::close(from);
        ::close(to);
    }
    void kill() {
        if (process <= 0) return;
        ::kill(process, SIGKILL);
        ::waitpid(process, nullptr, 0);
        // libfabric's shared memory would stay.
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
            EXPECT_FALSE(entry.path().filename().string().starts_with(std::to_string(process) + ":")) << entry.path();
        process = -1;
    }
    pid_t process = -1;
    int from = -1, to = -1;
};

void write_all(int descriptor, const void* data, std::size_t size) {
    ASSERT_EQ(::write(descriptor, data, size), static_cast<ssize_t>(size));
}
std::vector<std::byte> read_address(int descriptor) {
    std::uint32_t size = 0;
    if (::read(descriptor, &size, sizeof size) != sizeof size) return {};
    std::vector<std::byte> bytes(size);
    if (::read(descriptor, bytes.data(), size) != static_cast<ssize_t>(size)) return {};
    return bytes;
}
void write_address(int descriptor, const std::vector<std::byte>& address) {
    const auto size = static_cast<std::uint32_t>(address.size());
    write_all(descriptor, &size, sizeof size);
    write_all(descriptor, address.data(), size);
}

std::unique_ptr<transport::Transport> one_of_two(const Way& way, int rank) {
    prepare(way);
    transport::TransportOptions options;
    options.rank = rank;
    options.size = options.local_size = 2;
    if (const char* const provider = std::getenv("ROLLCALL_OFI_PROVIDER")) options.ofi_provider = provider;
    return transport::make_transport(way.transport, options);
}

// How many messages a peer offers before it is killed.
constexpr std::size_t kOffers = 8;

TEST_P(Ends, OutliveAPeerThatIsKilled) {
    if (GetParam().is_simulated() || GetParam().single_copy) GTEST_SKIP() << "all of its ranks are in this process";
    Child child(GetParam());
    End end;
    end.owned = one_of_two(GetParam(), 0);
    end.owned->attach(end);
    const auto mine = end.owned->address();
    write_address(child.to, mine);
    const auto its = read_address(child.from);
    ASSERT_FALSE(its.empty());
    end.owned->connect({mine, its}, nullptr);
    const auto until = [&](const auto& condition) {
        for (const auto begin = std::chrono::steady_clock::now(); !condition(); end.owned->progress())
            if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
        return true;
    };
    // The peer has sent one message and offers others.
    ASSERT_TRUE(until([&] { return end.heard.size() == 1 + kOffers; }));
    child.kill();
    const auto payload = pattern(1'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    Told eager[50], offered, fetched[kOffers];
    for (Told& told : eager) told.note(end.owned->send(1, header_of(0, 1), {payload.data(), 8000}, Path::eager, told));
    offered.note(end.owned->send(1, header_of(0, 2), {payload.data(), payload.size()}, Path::large, offered));
    // The sends have shown UCX that the connection is lost, so that it ends a fetch while it starts it.
    Told* next = fetched;
    for (const Heard& message : end.heard) {
        if (!message.offered) continue;
        next->note(end.owned->fetch(message.offer, {landed.data(), message.offer.size}, *next));
        ++next;
    }
    for (int i = 0; i < 1000; ++i) end.owned->progress();
    // The transport may have noticed the death or not. The starter of the process reports it in any case.
    end.owned->disconnect(1);
    ASSERT_TRUE(until([&] { return offered.ended() && std::ranges::all_of(fetched, &Told::ended); }));
    EXPECT_EQ(offered.outcome, Outcome::failed);
    for (const Told& told : eager) EXPECT_EQ(told.times, 1);
    for (const Told& told : fetched) EXPECT_EQ(told.times, 1);
    Told later;
    later.note(end.owned->send(1, header_of(0, 3), {}, Path::eager, later));
    EXPECT_TRUE(later.ended() && later.outcome == Outcome::failed);
    for (int i = 0; i < 1000; ++i) end.owned->progress();
}

std::size_t entries(const char* directory) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
    return count;
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
    const auto own = std::to_string(::getpid());
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
        EXPECT_EQ(entry.path().filename().string().find(own), std::string::npos) << entry.path();
}

}  // namespace

// The process that OutliveAPeerThatIsKilled starts.
int be_a_peer(const std::string& way_name) {
    for (const Way& way : ways()) {
        if (way.name != way_name) continue;
        End end;
        end.owned = one_of_two(way, 1);
        end.owned->attach(end);
        const auto mine = end.owned->address();
        write_address(3, mine);
        const auto its = read_address(0);
        end.owned->connect({its, mine}, nullptr);
        const auto payload = pattern(500'000, 2);
        Told sent, offered[kOffers];
        sent.note(end.owned->send(0, header_of(1, 1), {payload.data(), 100}, Path::eager, sent));
        for (Told& told : offered) told.note(end.owned->send(0, header_of(1, 2), {payload.data(), payload.size()}, Path::large, told));
        // Runs until it is killed, or until its parent has ended.
        for (char byte; !is_readable(0, 0) || ::read(0, &byte, 1) > 0;) end.owned->progress();
        return 0;
    }
    return 2;
}

}  // namespace rollcall::test
