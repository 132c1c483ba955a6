// Tests of ends whose peer, another process, is killed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sanitizers.hpp"
#include "tests/transport/world.hpp"
#include "transports/catalogue.hpp"

extern char** environ;

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;

class KilledPeers : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Transport, KilledPeers, testing::ValuesIn(ways()), &name_of_way);

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
    void kill(bool has_connected = true) {
        if (process <= 0) return;
        ::kill(process, SIGKILL);
        ::waitpid(process, nullptr, 0);
        // libfabric's shared memory would stay. Before a connection it does, and the launcher removes it.
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
            if (entry.path().filename().string().starts_with(std::to_string(process) + ":")) {
                EXPECT_FALSE(has_connected) << entry.path();
                std::filesystem::remove(entry.path());
            }
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
    options.ucx_direct = way.direct;
    if (const char* const provider = std::getenv("ROLLCALL_OFI_PROVIDER")) options.ofi_provider = provider;
    return transport::make_transport(way.transport, options);
}

// How many messages a peer offers before it is killed.
constexpr std::size_t kOffers = 8;

// An end of this process and one of another process, which sends a message, offers others, and then waits to be killed.
struct WithAChild {
    explicit WithAChild(const Way& way) : child(way) {
        end.owned = one_of_two(way, 0);
        end.owned->attach(end);
        mine = end.owned->address();
        its = read_address(child.from);
    }
    void connect() {
        ASSERT_FALSE(its.empty());
        if (child.process > 0) write_address(child.to, mine);
        end.owned->connect({mine, its}, nullptr);
    }
    bool until(const std::function<bool()>& condition) {
        for (const auto begin = std::chrono::steady_clock::now(); !condition(); end.owned->progress())
            if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
        return true;
    }
    Child child;
    std::vector<std::byte> mine, its;  // Addresses, which the end uses.
    End end;
};

TEST_P(KilledPeers, AreOutlived) {
    if (GetParam().is_simulated() || GetParam().single_copy) GTEST_SKIP() << "all of its ranks are in this process";
    WithAChild both(GetParam());
    Child& child = both.child;
    End& end = both.end;
    both.connect();
    // The peer has sent one message and offers others.
    ASSERT_TRUE(both.until([&] { return end.heard.size() == 1 + kOffers; }));
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
    ASSERT_TRUE(both.until([&] { return offered.ended() && std::ranges::all_of(fetched, &Told::ended); }));
    EXPECT_EQ(offered.outcome, Outcome::failed);
    for (const Told& told : eager) EXPECT_EQ(told.times, 1);
    for (const Told& told : fetched) EXPECT_EQ(told.times, 1);
    Told later;
    later.note(end.owned->send(1, header_of(0, 3), {}, Path::eager, later));
    EXPECT_TRUE(later.ended() && later.outcome == Outcome::failed);
    for (int i = 0; i < 1000; ++i) end.owned->progress();
}

// An end that has sent nothing has made no connection. UCX made one for the messages that came in, and says nothing when it breaks.
TEST(KilledPeersOverTcp, AreNoticedByAnEndThatHasOnlyReceived) {
    WithAChild both(Way{"ucx_tcp", "ucx", {{"UCX_TLS", "tcp,self"}}});
    End& end = both.end;
    both.connect();
    ASSERT_TRUE(both.until([&] { return end.heard.size() == 1 + kOffers; }));
    both.child.kill();
    ASSERT_TRUE(both.until([&] { return !end.lost.empty(); }));
    EXPECT_EQ(end.lost.front().first, 1);
    end.owned->disconnect(1);
}

// The peer dies before this end has connected with it, or, if it `sends`, before this end has heard it.
void outlive_a_stranger(const Way& way, bool sends) {
    if (way.is_simulated() || way.single_copy) GTEST_SKIP() << "all of its ranks are in this process";
    if (sends && kSanitized && way.name.starts_with("ofi_tcp"))
        GTEST_SKIP() << "libfabric leaks a connection whose peer dies while it is made";
    WithAChild both(way);
    End& end = both.end;
    if (sends) {
        both.connect();
        // The peer has sent what it can without an answer. It may wait for one in order to connect.
        char byte;
        ASSERT_EQ(::read(both.child.from, &byte, 1), 1);
    }
    both.child.kill(sends);
    if (!sends) both.connect();
    Told sent, later, fetched[kOffers];
    if (!sends) sent.note(end.owned->send(1, header_of(0, 3), {}, Path::eager, sent));
    for (int i = 0; i < 1000; ++i) end.owned->progress();
    // The transport may have noticed the death or not. The starter of the process reports it in any case.
    end.owned->disconnect(1);
    EXPECT_TRUE(sends || sent.ended());
    std::vector<std::byte> landed(1'000'000);
    Told* next = fetched;
    for (const Heard& message : end.heard) {
        if (!message.offered) continue;
        next->note(end.owned->fetch(message.offer, {landed.data(), message.offer.size}, *next));
        EXPECT_TRUE(next->ended() && next->outcome == Outcome::failed);
        ++next;
    }
    later.note(end.owned->send(1, header_of(0, 3), {}, Path::eager, later));
    EXPECT_TRUE(later.ended() && later.outcome == Outcome::failed);
    for (int i = 0; i < 1000; ++i) end.owned->progress();
}

TEST_P(KilledPeers, AreOutlivedBeforeTheyAreHeard) { outlive_a_stranger(GetParam(), true); }
TEST_P(KilledPeers, AreOutlivedBeforeAConnection) { outlive_a_stranger(GetParam(), false); }

// A process that makes one end after the other does not run out of descriptors.
TEST_P(KilledPeers, LeaveNothingForGood) {
    if (GetParam().is_simulated() || GetParam().single_copy) GTEST_SKIP() << "all of its ranks are in this process";
    if (may_end_the_process(GetParam())) GTEST_SKIP() << "UCX may end the process if its objects are destroyed";
    const auto payload = pattern(1'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    const auto once = [&] {
        Told eager[100], offered, fetched;  // more than the queue of the peer has places
        WithAChild both(GetParam());
        End& end = both.end;
        both.connect();
        ASSERT_TRUE(both.until([&] { return end.heard.size() == 1 + kOffers; }));
        const Heard& offer = *std::ranges::find_if(end.heard, &Heard::offered);
        fetched.note(end.owned->fetch(offer.offer, {landed.data(), offer.offer.size}, fetched));
        both.child.kill();
        offered.note(end.owned->send(1, header_of(0, 2), {payload.data(), payload.size()}, Path::large, offered));
        for (Told& told : eager) told.note(end.owned->send(1, header_of(0, 1), {payload.data(), 8000}, Path::eager, told));
        for (int i = 0; i < 1000; ++i) end.owned->progress();
        end.owned->disconnect(1);
        ASSERT_TRUE(both.until([&] { return offered.ended() && fetched.ended(); }));
    };
    for (int i = 0; i < 2; ++i) once();
    const std::size_t before = entries("/proc/self/fd");
    for (int i = 0; i < 5; ++i) once();
    EXPECT_LE(entries("/proc/self/fd"), before + 4);
}

}  // namespace

static bool input_is_readable() {
    pollfd one{0, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
}

// The process that the tests of peers that are killed start.
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
        for (int i = 0; i < 1000; ++i) end.owned->progress();
        write_all(3, "", 1);
        // Runs until it is killed, or until its parent has ended.
        for (char byte; !input_is_readable() || ::read(0, &byte, 1) > 0;) end.owned->progress();
        return 0;
    }
    return 2;
}

}  // namespace rollcall::test
