/// \file
/// Tests how the invitation of a step is handed out, with real sockets of this host and a key instead of munge. tests/slurm has the
/// real Slurm.
#include "bootstrap/slurm/handout.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "bootstrap/slurm/srun.hpp"
#include "bootstrap/slurm/step.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(KeyCredentials, OnlyTheSameKeyReadsThem) {
    const Key key = Key::random();
    KeyCredentials ours(key), same(key), others(Key::random());
    std::string why;
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{400}, std::size_t{1000}}) {
        const std::string text(length, 'x');
        const std::string credential = ours.encode(text);
        EXPECT_EQ(same.decode(credential, why), text);
        EXPECT_EQ(others.decode(credential, why), std::nullopt);
        EXPECT_NE(credential, ours.encode(text)) << "the same text twice looks the same";
        for (const std::size_t at : {std::size_t{0}, credential.size() / 2, credential.size() - 2}) {
            std::string changed = credential;
            changed[at] = changed[at] == 'A' ? 'B' : 'A';
            EXPECT_EQ(same.decode(changed, why), std::nullopt);
        }
        EXPECT_EQ(same.decode(credential.substr(0, credential.size() / 2), why), std::nullopt);
    }
    EXPECT_EQ(ours.decode("", why), std::nullopt);
    EXPECT_EQ(ours.decode("no base64 at all", why), std::nullopt);
    EXPECT_EQ(why, "it is not sealed by the key in this user's key file");
}

/// A listening socket on loopback, and its address.
class Listener {
  public:
    Listener() {
        Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address_), size) != 0 || ::listen(socket.get(), 500) != 0 ||
            ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address_), &size) != 0)
            std::abort();
        sockets_.push_back(std::move(socket));
    }
    std::vector<Descriptor> take() { return std::move(sockets_); }
    Descriptor connect() const {
        Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) std::abort();
        return socket;
    }

  private:
    sockaddr_in address_{};
    std::vector<Descriptor> sockets_;
};

TEST(Handout, GivesItsTextToAllWhoBelongToTheJob) {
    const Key key = Key::random();
    KeyCredentials credentials(key);
    const std::string text(kLongestInvitation, 'i');
    Listener listener;
    Handout handout("7.2", text);
    handout.listen("nodes", listener.take(), credentials, {1, 2, 3}, false);
    std::thread server([&] { handout.serve(deadline_after(seconds(20))); });
    for (int number = 3; number >= 1; --number) {
        const Descriptor socket = listener.connect();
        KeyCredentials own(key);
        std::string failure;
        EXPECT_EQ(ask_for_handout(socket.get(), "7.2", number, own, deadline_after(seconds(10)), failure), text) << failure;
    }
    server.join();
    EXPECT_EQ(handout.dropped(), 0u);
}

TEST(Handout, MoreThanItTakesAtOnceAreAllServed) {
    const Key key = Key::random();
    KeyCredentials credentials(key);
    constexpr int kAll = 4 * static_cast<int>(kMostAskers);
    constexpr int kThreads = 8;
    Listener listener;
    Handout handout("7.2", "text");
    std::set<int> askers;
    std::vector<Descriptor> sockets;  // All of them connect before the first one is served.
    for (int number = 0; number < kAll; ++number) {
        askers.insert(number);
        sockets.push_back(listener.connect());
    }
    handout.listen("nodes", listener.take(), credentials, askers, false);
    std::thread server([&] { handout.serve(deadline_after(seconds(50))); });
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            KeyCredentials own(key);
            for (int number = thread; number < kAll; number += kThreads) {
                // A task whose connection was dropped, because it waited too long for its turn, connects again.
                std::string failure;
                for (Descriptor* socket = &sockets[static_cast<std::size_t>(number)];; *socket = listener.connect())
                    if (ask_for_handout(socket->get(), "7.2", number, own, deadline_after(seconds(20)), failure) == "text") break;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    server.join();
}

TEST(Handout, GivesNothingToOthers) {
    const Key key = Key::random();
    KeyCredentials credentials(key);
    Listener listener;
    Handout handout("7.2", "secret");
    handout.listen("nodes", listener.take(), credentials, {1}, false);
    std::thread server([&] { handout.serve(deadline_after(seconds(20))); });
    std::string failure;
    {  // another key
        const Descriptor socket = listener.connect();
        KeyCredentials other(Key::random());
        EXPECT_EQ(ask_for_handout(socket.get(), "7.2", 1, other, deadline_after(seconds(10)), failure), std::nullopt);
        EXPECT_NE(failure.find("refuses"), std::string::npos) << failure;
    }
    {  // another job of the same user
        const Descriptor socket = listener.connect();
        KeyCredentials own(key);
        EXPECT_EQ(ask_for_handout(socket.get(), "7.3", 1, own, deadline_after(seconds(10)), failure), std::nullopt);
    }
    {  // nonsense: the connection is closed
        const Descriptor socket = listener.connect();
        const std::string noise(kQuestionBytes, '\xff');
        ASSERT_EQ(::send(socket.get(), noise.data(), noise.size(), MSG_NOSIGNAL), static_cast<ssize_t>(noise.size()));
        char byte;
        EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0);
    }
    // A task of its own step is still served.
    const Descriptor socket = listener.connect();
    KeyCredentials own(key);
    EXPECT_EQ(ask_for_handout(socket.get(), "7.2", 1, own, deadline_after(seconds(10)), failure), "secret");
    server.join();
    EXPECT_EQ(handout.dropped(), 3u);
}

TEST(Handout, ManyWhoSayNothingDoNotKeepItFromItsOwn) {
    const Key key = Key::random();
    KeyCredentials credentials(key);
    Listener listener;
    Handout handout("7.2", "text");
    handout.listen("nodes", listener.take(), credentials, {1}, false);
    std::vector<Descriptor> silent;
    for (std::size_t i = 0; i < 3 * kMostAskers; ++i) silent.push_back(listener.connect());
    std::thread server([&] { handout.serve(deadline_after(seconds(40))); });
    const Descriptor socket = listener.connect();
    KeyCredentials own(key);
    std::string failure;
    EXPECT_EQ(ask_for_handout(socket.get(), "7.2", 1, own, deadline_after(seconds(30)), failure), "text") << failure;
    server.join();
    EXPECT_GE(handout.dropped(), silent.size() - kMostAskers);
}

TEST(Handout, DropsNobodyForAnotherUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const Key key = Key::random();
    KeyCredentials credentials(key);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = fmt::format("rollcall-test-{}-handout", ::getpid());
    name.copy(address.sun_path + 1, name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const auto make_socket = [] { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); };
    std::vector<Descriptor> listeners;
    listeners.push_back(make_socket());
    ASSERT_EQ(::bind(listeners[0].get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(::listen(listeners[0].get(), 2 * static_cast<int>(kMostAskers)), 0);
    const auto connect = [&] {
        Descriptor socket = make_socket();
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
        return socket;
    };
    std::vector<Descriptor> own;
    for (std::size_t i = 0; i < kMostAskers; ++i) own.push_back(connect());
    const Descriptor stranger = [&] {
        const rendezvous_test::OtherUser other;
        return connect();
    }();
    Handout handout("7.2", "text");
    handout.listen("nodes", std::move(listeners), credentials, {1}, true);
    std::thread server([&] { handout.serve(deadline_after(seconds(40))); });
    char byte;
    EXPECT_EQ(::recv(stranger.get(), &byte, 1, 0), 0);  // it is refused when the others have had their moment
    std::string failure;
    EXPECT_EQ(ask_for_handout(own[0].get(), "7.2", 1, credentials, deadline_after(seconds(30)), failure), "text") << failure;
    server.join();
    EXPECT_EQ(handout.dropped(), 1u);
}

TEST(Handout, AnAnswerOfSomebodyElseIsNotTaken) {
    // A false rank 0 repeats an answer that it has heard. The nonce shows that it answers another question.
    const Key key = Key::random();
    for (const bool of_the_key : {true, false}) {
        Listener listener;
        auto sockets = listener.take();
        std::thread other([&] {
            Descriptor socket;
            while (!socket) socket.reset(::accept4(sockets.front().get(), nullptr, nullptr, SOCK_CLOEXEC));
            std::vector<char> question(kQuestionBytes);
            if (::recv(socket.get(), question.data(), question.size(), MSG_WAITALL) < 0) std::abort();
            KeyCredentials credentials(of_the_key ? key : Key::random());
            std::string answer = credentials.encode("rollcall 1 7.2 give 0123456789abcdef text");
            answer.resize(kAnswerBytes, '\0');
            if (::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) std::abort();
        });
        const Descriptor socket = listener.connect();
        KeyCredentials own(key);
        std::string failure;
        EXPECT_EQ(ask_for_handout(socket.get(), "7.2", 1, own, deadline_after(seconds(10)), failure), std::nullopt);
        EXPECT_NE(failure.find("not this job's"), std::string::npos) << failure;
        other.join();
    }
}

TEST(Handout, WhoIsMissingIsNamedAtTheDeadline) {
    KeyCredentials credentials(Key::random());
    Listener listener;
    Handout handout("7.2", "text");
    handout.listen("nodes", listener.take(), credentials, {4, 9}, false);
    const std::string text = refusal(ErrorCode::timeout, [&] { handout.serve(deadline_after(milliseconds(30))); });
    EXPECT_NE(text.find("of Slurm's step 7.2 have"), std::string::npos) << text;
    EXPECT_NE(text.find("missing are: nodes 4, 9; start the job in another way"), std::string::npos) << text;
}

TEST(Handout, WhoWasRefusedIsSaidAtTheDeadlineWithWhy) {
    const Key key = Key::random();
    KeyCredentials credentials(key);
    Listener listener;
    Handout handout("7.2", "text");
    handout.listen("nodes", listener.take(), credentials, {1}, false);
    const auto asks = [&](const Key& with, const std::string& job) {
        KeyCredentials own(with);
        std::string question = own.encode(fmt::format("rollcall 1 {} ask 1 00", job));
        question.resize(kQuestionBytes, '\0');
        Descriptor socket = listener.connect();
        EXPECT_EQ(::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL), static_cast<ssize_t>(question.size()));
        return socket;
    };
    const auto says = [&](const std::string& part) {
        std::string text;
        for (const Nanoseconds until = deadline_after(seconds(20)); monotonic_now() < until && text.find(part) == std::string::npos;)
            text = refusal(ErrorCode::timeout, [&] { handout.serve(deadline_after(milliseconds(50))); });
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    const Descriptor other_job = asks(key, "7.3");
    says("1 connection was refused (last: it asked for another job");
    const Descriptor other_key = asks(Key::random(), "7.2");
    says("2 connections were refused (last: its question cannot be read: it is not sealed");
}

TEST(Handout, WithoutDescriptorsItWaitsUntilThereAreSome) {
    const Key key = Key::random();
    KeyCredentials credentials(key);
    Listener listener;
    Handout handout("7.2", "text");
    handout.listen("nodes", listener.take(), credentials, {1}, false);
    const Descriptor socket = listener.connect();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int first_free = ::dup(0);
    ::close(first_free);
    const rlimit none_left{static_cast<rlim_t>(first_free), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
    const std::clock_t begin = std::clock();
    const std::string text = refusal(ErrorCode::timeout, [&] { handout.serve(deadline_after(milliseconds(500))); });
    const std::clock_t used = std::clock() - begin;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_NE(text.find("could not be accepted: Too many open files (ulimit -n)"), std::string::npos) << text;
    EXPECT_LT(used, CLOCKS_PER_SEC / 5) << "it looked again and again";
    std::thread server([&] { handout.serve(deadline_after(seconds(20))); });
    KeyCredentials own(key);
    std::string failure;
    EXPECT_EQ(ask_for_handout(socket.get(), "7.2", 1, own, deadline_after(seconds(10)), failure), "text") << failure;
    server.join();
}

TEST(Handout, WithoutAnAnswerTheQuestionEndsAtItsDeadline) {
    Listener listener;
    const auto sockets = listener.take();  // no process accepts from them
    const Descriptor socket = listener.connect();
    KeyCredentials own(Key::random());
    std::string failure;
    EXPECT_EQ(ask_for_handout(socket.get(), "7.2", 1, own, deadline_after(milliseconds(30)), failure), std::nullopt);
    EXPECT_EQ(failure, "no answer came");
}

/// A step whose nodes are all this host, as in tests/slurm. Every task is a thread.
std::vector<std::string> share_in_a_step(int nodes, int tasks_of_a_node, const std::function<Key(int)>& key, Timeout timeout) {
    const auto job = static_cast<std::uint32_t>(::getpid());
    static std::uint32_t number = 0;
    const std::uint32_t step_number = ++number;
    const int size = nodes * tasks_of_a_node;
    std::vector<std::string> got(static_cast<std::size_t>(size));
    std::vector<std::thread> tasks;
    for (int rank = 0; rank < size; ++rank) {
        tasks.emplace_back([&, rank] {
            SlurmStep step;
            step.job = job;
            step.step = step_number;
            step.rank = rank;
            step.size = size;
            step.node = rank / tasks_of_a_node;
            step.nodes = nodes;
            step.local_rank = rank % tasks_of_a_node;
            step.local_size = tasks_of_a_node;
            step.first_host = {"no-such-host.invalid", "127.0.0.1"};
            RendezvousOptions options;
            options.join_timeout = timeout;
            SlurmShare share(step, std::make_shared<KeyCredentials>(key(rank)), options);
            std::string& text = got[static_cast<std::size_t>(rank)];
            try {
                text = share(rank == 0 ? "the-invitation" : "");
            } catch (const Error& error) {
                text = fmt::format("{}: {}", name(error.code()), error.what());
            }
        });
    }
    for (std::thread& task : tasks) task.join();
    return got;
}

TEST(SlurmShare, BringsTheTextToEveryTask) {
    const Key key = Key::random();
    for (const auto& [nodes, tasks] : {std::pair{1, 1}, {1, 4}, {4, 1}, {3, 3}}) {
        const auto got = share_in_a_step(
            nodes, tasks, [&](int) { return key; }, seconds(30));
        for (const std::string& text : got) EXPECT_EQ(text, "the-invitation") << nodes << " nodes of " << tasks;
    }
}

TEST(SlurmShare, TheFirstPortsMayBeTaken) {
    const Key key = Key::random();
    SlurmStep step;
    step.job = 4'000'000'001u;
    step.step = 9;
    step.size = step.nodes = 2;
    step.first_host = {"127.0.0.1"};
    std::vector<Descriptor> taken;
    for (int attempt = 0; attempt < 3; ++attempt) {
        Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(slurm_port(step, attempt));
        // The port is taken in any case: by this socket, or by another process if bind() fails.
        (void)::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
        taken.push_back(std::move(socket));
    }
    RendezvousOptions options;
    options.join_timeout = seconds(30);
    std::string first;
    std::thread zero([&] { first = SlurmShare(step, std::make_shared<KeyCredentials>(key), options)("text"); });
    SlurmStep second = step;
    second.rank = second.node = 1;
    EXPECT_EQ(SlurmShare(second, std::make_shared<KeyCredentials>(key), options)(""), "text");
    zero.join();
    EXPECT_EQ(first, "text");
}

TEST(SlurmShare, AWrongKeyEndsAtTheDeadline) {
    const auto got = share_in_a_step(
        2, 1, [](int) { return Key::random(); }, milliseconds(300));
    EXPECT_NE(got[0].find("missing are: nodes 1"), std::string::npos) << got[0];
    EXPECT_NE(got[1].find("was not found in time at no-such-host.invalid or 127.0.0.1"), std::string::npos) << got[1];
}

}  // namespace
}  // namespace rollcall::bootstrap
