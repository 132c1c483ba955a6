/// \file
/// A rendezvous in processes that fork, die, and run out of descriptors. Everything is on loopback.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/hosted.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "foundation/clock.hpp"
#include "foundation/host_name.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::bootstrap {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongEnough = 20s;  // no test comes near it

RendezvousOptions options_on(const std::string& host) {
    RendezvousOptions options;
    options.net = "lo";
    options.join_timeout = kLongEnough;
    options.host = host;
    return options;
}

struct Pipe {
    Descriptor read, write;
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        read.reset(ends[0]);
        write.reset(ends[1]);
    }
    /// Waits until the other side is closed. Allocates nothing.
    void wait() const {
        char none = 0;
        [[maybe_unused]] const ssize_t count = ::read(read.get(), &none, 1);
    }
    /// Returns what comes until then.
    std::string all() {
        write.reset();
        std::string text;
        std::array<char, 512> part{};
        for (ssize_t count = 0; (count = ::read(read.get(), part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(count));
        return text;
    }
    void put(const std::string& text) {
        if (::write(write.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(3);
        write.reset();
    }
};

/// Runs `part` in a child, which then ends with code 0, or with 1 if `part` throws.
pid_t in_child(const std::function<void()>& part) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
        part();
    } catch (const std::exception& error) {
        fmt::print(stderr, "in the child: {}\n", error.what());
        ::_exit(1);
    }
    ::_exit(0);
}

int status_of(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

TEST(RendezvousAndFork, AChildKeepsWhatIsNotOfARendezvous) {
    ::setenv("ROLLCALL_NET", "lo", 1);
    RendezvousOptions options = options_on(host_name());
    options.invitation = host_root();
    {
        bootstrap::Rendezvous rendezvous("a test", 0, 1, {}, options);
        rendezvous.leave();  // Then the root has ended, too.
    }
    std::vector<Pipe> others(16);  // These pipes take the numbers of its descriptors.
    const int status = status_of(in_child([&] {
        for (const Pipe& pipe : others) {
            for (const int end : {pipe.read.get(), pipe.write.get()}) {
                if (::fcntl(end, F_GETFD) < 0) throw std::runtime_error(fmt::format("descriptor {} was closed", end));
            }
        }
    }));
    EXPECT_EQ(status, 0);
    ::unsetenv("ROLLCALL_NET");
}

TEST(RendezvousAndFork, AChildEndsNothingOfItsParent) {
    std::string text;
    auto rendezvous = std::make_unique<bootstrap::Rendezvous>(
        "a test", 0, 1, [&](std::string mine) { return text = mine; }, options_on("here"));
    EXPECT_EQ(status_of(in_child([&] { rendezvous.reset(); })), 0);
    // It still answers.
    const Invitation invitation = Invitation::parse(text);
    std::string why;
    const Descriptor socket = connect_to(*SocketAddress::parse(invitation.address, invitation.port), deadline_after(kLongEnough), why);
    ASSERT_TRUE(socket) << why;
    EXPECT_EQ(initiate(socket.get(), invitation.key, {Identity::Kind::leader, 1, 2}, deadline_after(kLongEnough)).peer.rank, 0);
    rendezvous->leave();
}

/// Rank 0 of 2 dies and leaves behind a child that `make_child` has made. The test itself is rank 1, on `host`.
void outlive_rank0(const std::string& host, const std::function<pid_t()>& make_child) {
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // So this process can wait for the child.
    Pipe invitation;
    Pipe living;
    Pipe held;
    const pid_t rank0 = in_child([&] {
        living.write.reset();
        held.write.reset();
        RendezvousOptions options = options_on("here");
        const Share share = [&](std::string mine) { return invitation.put(mine), mine; };
        bootstrap::Rendezvous rendezvous("a test", 0, 2, share, options);
        rendezvous.barrier({}, kLongEnough);
        living.wait();
        if (make_child() == 0) {
            held.wait();
            ::_exit(0);
        }
        ::raise(SIGKILL);
    });
    const std::string text = invitation.all();
    RendezvousOptions options = options_on(host);
    options.silence = Timeout::zero();  // Silence does not count as a loss here, so only a closed connection reports the death.
    bootstrap::Rendezvous rendezvous(
        "a test", 1, 2, [&](std::string) { return text; }, options);
    rendezvous.barrier({}, kLongEnough);
    living.write.reset();
    EXPECT_TRUE(WIFSIGNALED(status_of(rank0)));
    try {
        rendezvous.barrier({}, kLongEnough);
        ADD_FAILURE() << "the barrier was passed without rank 0";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::peer_failed) << error.what();
        EXPECT_EQ(error.failed_rank(), 0) << error.what();
    }
    pollfd entry{rendezvous.notice_descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, std::chrono::milliseconds(kLongEnough).count()), 1);
    const auto notice = rendezvous.take_notice();
    EXPECT_TRUE(notice && notice->rank == 0);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "the child did not outlive rank 0";
    held.write.reset();
    EXPECT_EQ(status_of(-1), 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(RendezvousAndFork, AChildThatOutlivesRank0HidesItFromNoHost) {
    outlive_rank0("elsewhere", [] { return ::fork(); });
}

TEST(RendezvousAndFork, AChildThatKeptAllDescriptorsHidesNoDeathOnItsHost) {
    // This fork does not call the handlers of the library.
    outlive_rank0("here", [] { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); });
}

TEST(RendezvousOfAUniqueId, TheDeathOfItsMakerIsNotThatOfARank) {
    ::setenv("ROLLCALL_NET", "lo", 1);
    Pipe invitation;
    Pipe living;
    const pid_t maker = in_child([&] {
        living.write.reset();
        invitation.put(host_root());
        living.wait();
        ::raise(SIGKILL);
    });
    RendezvousOptions options = options_on("elsewhere");
    options.invitation = invitation.all();
    std::latch both_met(2);
    std::latch both_told(2);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 2; ++rank) {
        ranks.emplace_back([&, rank] {
            bootstrap::Rendezvous rendezvous("a test", rank, 2, {}, options);
            rendezvous.barrier({}, kLongEnough);
            both_met.arrive_and_wait();
            if (rank == 0) living.write.reset();
            const auto expect_end = [&] {
                try {
                    rendezvous.barrier({}, kLongEnough);
                    ADD_FAILURE() << "the barrier was passed";
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::bootstrap) << error.what();
                    EXPECT_EQ(error.failed_rank(), -1) << error.what();
                    EXPECT_NE(std::string(error.what()).find("the job cannot go on: the process where all hosts meet"), std::string::npos)
                        << error.what();
                }
            };
            if (rank == 0) expect_end();  // Most likely this call begins before the end. The other rank calls later.
            pollfd entry{rendezvous.notice_descriptor(), POLLIN, 0};
            EXPECT_EQ(::poll(&entry, 1, std::chrono::milliseconds(kLongEnough).count()), 1);
            const auto notice = rendezvous.take_notice();
            EXPECT_TRUE(notice && notice->rank == -1);
            expect_end();
            both_told.arrive_and_wait();
        });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_TRUE(WIFSIGNALED(status_of(maker)));
    ::unsetenv("ROLLCALL_NET");
}

/// Lets this process open only so many more descriptors.
void leave_room_for(int descriptors) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    std::vector<Descriptor> taken;
    for (int i = 0; i < descriptors; ++i) taken.emplace_back(::fcntl(0, F_DUPFD_CLOEXEC, 0));
    limit.rlim_cur = static_cast<rlim_t>(taken.back().get()) + 1;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(RendezvousWithFewDescriptors, WhoCannotBeWelcomedIsToldWhyAndTheOthersToo) {
    if (test::kNeedsDescriptors) GTEST_SKIP() << test::kNeedsDescriptors;
    ::setenv("ROLLCALL_NET", "lo", 1);
    Pipe invitation;
    Pipe held;
    const pid_t root = in_child([&] {
        held.write.reset();
        const std::string text = host_root();
        // Each of the three ranks needs two descriptors. The welcome of the first rank takes two more for a moment: the one that the pipe
        // gives back when it is closed, and the one that is left here. One of the two stays taken.
        leave_room_for(3 * 2 + 1);
        invitation.put(text);
        held.wait();
    });
    RendezvousOptions options = options_on(host_name());
    options.invitation = invitation.all();
    std::array<std::string, 3> told;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
        ranks.emplace_back([&, rank] {
            try {
                bootstrap::Rendezvous rendezvous("a test", rank, 3, {}, options);
                rendezvous.barrier({}, kLongEnough);
            } catch (const Error& error) {
                told[static_cast<std::size_t>(rank)] = error.what();
                EXPECT_EQ(error.code(), rank == 0 ? ErrorCode::peer_failed : ErrorCode::bootstrap) << error.what();
            }
        });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const std::string& sentence : told)
        EXPECT_NE(sentence.find("could not be welcomed by the leader of its host: Too many open files; raise the limit"), std::string::npos)
            << sentence;
    held.write.reset();
    EXPECT_EQ(status_of(root), 0);
    ::unsetenv("ROLLCALL_NET");
}

TEST(RendezvousOverTcp, NobodyIsConnectedToItself) {
    // In a network of its own with two ports to choose from, a connection to one of them is soon one with itself.
    const int status = status_of(in_child([] {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWNET) != 0) ::_exit(77);
        const Descriptor control(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        ifreq loopback{};
        loopback.ifr_name[0] = 'l';
        loopback.ifr_name[1] = 'o';
        loopback.ifr_flags = IFF_UP;
        if (::ioctl(control.get(), SIOCSIFFLAGS, &loopback) != 0) ::_exit(77);
        const Descriptor range(::open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC));
        if (::write(range.get(), "40000 40001", 11) != 11) ::_exit(77);
        for (int attempt = 0; attempt < 200; ++attempt) {
            const auto address = *SocketAddress::parse("127.0.0.1", static_cast<std::uint16_t>(40000 + attempt % 2));
            std::string why;
            if (connect_to(address, deadline_after(kLongEnough), why)) throw std::runtime_error("somebody answered where nobody is");
            listen_at(address, "");  // the port is free
        }
    }));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this process may not make a network of its own";
    EXPECT_EQ(status, 0);
}

TEST(RendezvousOverTcp, AnAddressOfAnotherHostIsNotOfThisOneWhereProcessesMayListenAtAny) {
    const int status = status_of(in_child([] {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWNET) != 0) ::_exit(77);
        for (const char* const family : {"ipv4", "ipv6"}) {
            const Descriptor any(::open(fmt::format("/proc/sys/net/{}/ip_nonlocal_bind", family).c_str(), O_WRONLY | O_CLOEXEC));
            if (::write(any.get(), "1", 1) != 1) ::_exit(77);
        }
        for (const char* const address : {"192.0.2.1", "2001:db8::1"}) {
            listen_at(*SocketAddress::parse(address, 0), "");
            if (is_of_this_host(*SocketAddress::parse(address, 0))) throw std::runtime_error("an address that no interface has");
        }
    }));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this process may not make a network of its own";
    EXPECT_EQ(status, 0);
    std::vector<std::string> own = {"127.0.0.1", "127.0.0.5", "::ffff:127.0.0.1"};
    for (const Interface& interface : list_interfaces()) {
        for (const NetAddress& address : interface.addresses) {
            const std::string text = address.text();
            if (!address.link_local()) own.push_back(text.substr(0, text.find('/')));
        }
    }
    for (const std::string& address : own) EXPECT_TRUE(is_of_this_host(*SocketAddress::parse(address, 0))) << address;
}

}  // namespace
}  // namespace rollcall::bootstrap
