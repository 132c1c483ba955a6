#include "bootstrap/rendezvous/job_listener.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/invitation.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "foundation/clock.hpp"

namespace rollcall::bootstrap {
namespace {

using namespace std::chrono_literals;

constexpr Timeout kMeetingLimit = 30s;
const Meanwhile kNothingElse = [] {};
const JobIntroduction kServer{"server", "A=1 B=2", 3};
const JobIntroduction kClient{"client", "A=1 B=2", 5};

/// Runs `work`, and returns the code and the sentence of its error; otherwise "none".
std::string meeting_error(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return std::string(name(error.code())) + ": " + error.what();
    }
    return "none";
}
bool has_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::future<JobMeeting> meeting_with(std::string invitation, JobIntroduction who) {
    return std::async(std::launch::async, [invitation = std::move(invitation), who = std::move(who)] {
        return meet_job(invitation, who, kNothingElse, kMeetingLimit);
    });
}

/// The first rank of a job that connects step by step. It has said hello.
class SlowJob {
  public:
    explicit SlowJob(const JobListener& listener)
        : invitation_(Invitation::parse(listener.invitation())), initiator_(invitation_.key, {Identity::Kind::job, 0, 1}) {
        std::string why;
        socket_ = connect_to(*SocketAddress::parse(invitation_.address, invitation_.port), kNever, why);
        EXPECT_TRUE(socket_) << why;
        send(initiator_.hello());
    }
    /// Answers the challenge of the listener, once that is here. Returns whether it has done so.
    bool answers() {
        Challenge challenge;
        const auto size = static_cast<ssize_t>(challenge.size());
        if (::recv(socket_.get(), challenge.data(), challenge.size(), MSG_DONTWAIT | MSG_PEEK) != size) return false;
        ::recv(socket_.get(), challenge.data(), challenge.size(), MSG_DONTWAIT);
        send(initiator_.answer(challenge));
        return true;
    }
    /// After the answer.
    Connection introduces_itself(const std::string& name) {
        Connection connection(std::move(socket_), initiator_.session(), true);
        EXPECT_TRUE(connection.post(std::make_shared<const Blob>(
            FrameWriter(FrameType::introduction).text(name).blob(std::as_bytes(std::span(kClient.settings))).finish())));
        return connection;
    }

  private:
    template <class Bytes>
    void send(const Bytes& bytes) {
        EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }

    const Invitation invitation_;
    Initiator initiator_;
    Descriptor socket_;
};

TEST(JobListener, MeetsOneJobAfterTheOther) {
    JobListener listener("lo", 0);
    std::optional<Key> first;
    for (int round = 0; round < 2; ++round) {
        auto other = meeting_with(listener.invitation(), kClient);
        JobMeeting here = listener.accept(kServer, kNothingElse, kMeetingLimit);
        JobMeeting there = other.get();
        EXPECT_EQ(here.other().name, "client");
        EXPECT_EQ(here.other().size, 5);
        EXPECT_EQ(there.other().name, "server");
        EXPECT_EQ(there.other().size, 3);
        EXPECT_TRUE(std::ranges::equal(here.key().bytes(), there.key().bytes()));
        EXPECT_FALSE(first && std::ranges::equal(here.key().bytes(), first->bytes())) << "both meetings have one key";
        first = here.key();

        const Invitation common{"127.0.0.1", 4711, here.key()};
        here.send_invitation(common.text());
        EXPECT_EQ(there.receive_invitation(kNothingElse, kMeetingLimit), common.text());
        here.send_invitation(failed_invitation("a wheel fell off"));
        EXPECT_EQ(there.receive_invitation(kNothingElse, kMeetingLimit), failed_invitation("a wheel fell off"));
    }
}

TEST(JobListener, KeepsASecondJobWaiting) {
    JobListener listener("lo", 0);
    auto one = meeting_with(listener.invitation(), kClient), other = meeting_with(listener.invitation(), {"late", kClient.settings, 1});
    const std::string first = listener.accept(kServer, kNothingElse, kMeetingLimit).other().name;
    const std::string second = listener.accept(kServer, kNothingElse, kMeetingLimit).other().name;
    EXPECT_EQ(std::set<std::string>({first, second}), std::set<std::string>({"client", "late"}));
    one.get();
    other.get();
}

TEST(JobListener, TellsBothThatTheirSettingsDiffer) {
    JobListener listener("lo", 0);
    auto other = meeting_with(listener.invitation(), {"client", "A=1 B=3", 5});
    const std::string here = meeting_error([&] { listener.accept(kServer, kNothingElse, kMeetingLimit); });
    const std::string there = meeting_error([&] { other.get(); });
    EXPECT_EQ(here, there);
    EXPECT_TRUE(has_part(here, "invalid_setting: the job server has B=2, and the job client has B=3")) << here;
}

TEST(JobListener, GoesOnWaitingAfterStrangers) {
    JobListener listener("lo", 0);
    const Invitation right = Invitation::parse(listener.invitation());
    auto wrong = meeting_with(Invitation{right.address, right.port, Key::random()}.text(), kClient);
    // A connection that says nothing, one that says something else, and one that closes after it has proved that it knows the key.
    std::string why;
    const auto connected = [&] { return connect_to(*SocketAddress::parse(right.address, right.port), kNever, why); };
    const Descriptor silent = connected(), rude = connected();
    const std::string words(200, 'x');
    ASSERT_EQ(::send(rude.get(), words.data(), words.size(), MSG_NOSIGNAL), 200);
    auto gone = std::async(std::launch::async, [&] {
        std::string unused;
        const Descriptor socket = connect_to(*SocketAddress::parse(right.address, right.port), kNever, unused);
        initiate(socket.get(), right.key, {Identity::Kind::job, 0, 1}, deadline_after(kMeetingLimit));
    });
    auto other = std::async(std::launch::async, [&] {
        gone.get();
        const std::string told = meeting_error([&] { wrong.get(); });
        EXPECT_TRUE(has_part(told, "bootstrap: the invitation does not fit what listens at 127.0.0.1")) << told;
        return meet_job(listener.invitation(), kClient, kNothingElse, kMeetingLimit);
    });
    EXPECT_EQ(listener.accept(kServer, kNothingElse, kMeetingLimit).other().name, "client");
    other.get();
}

/// It was not its turn yet, and its time was over.
TEST(JobListener, TakesTheNextJobIfOneHasGivenUpAfterItsIntroduction) {
    JobListener listener("lo", 0);
    SlowJob job(listener);
    bool has_gone = false;
    std::future<JobMeeting> next;
    // The listener does nothing while this runs, so it finds the answer, the introduction and the end together.
    const Meanwhile gives_up = [&] {
        if (has_gone || !job.answers()) return;
        has_gone = true;
        ASSERT_TRUE(job.introduces_itself("gone").flushed());
        next = meeting_with(listener.invitation(), kClient);
    };
    EXPECT_EQ(listener.accept(kServer, gives_up, kMeetingLimit).other().name, "client");
    next.get();
}

/// Calls whose time is over at once, one after the other.
TEST(JobListener, MeetsAJobThatComesBitByBitBetweenItsCalls) {
    JobListener listener("lo", 0);
    SlowJob job(listener);
    const auto looks = [&] { return meeting_error([&] { listener.accept(kServer, kNothingElse, 0s); }); };
    const Nanoseconds limit = deadline_after(kMeetingLimit);
    while (!job.answers()) {
        ASSERT_LT(monotonic_now(), limit) << "a call without time does not look";
        ASSERT_EQ(looks(), "timeout: no job has connected in time");
    }
    for (int i = 0; i < 20; ++i) ASSERT_EQ(looks(), "timeout: no job has connected in time");
    Connection connection = job.introduces_itself("client");
    std::optional<JobMeeting> meeting;
    const auto meets = [&] { return meeting_error([&] { meeting.emplace(listener.accept(kServer, kNothingElse, 0s)); }); };
    for (std::string ended = "not yet"; ended != "none"; ended = meets()) {
        ASSERT_LT(monotonic_now(), limit) << ended;
        ASSERT_TRUE(connection.receive()) << "the job was dropped between two calls";
    }
    EXPECT_EQ(meeting->other().name, "client");
}

TEST(JobListener, SaysWhyThereIsNoMeeting) {
    const auto told = [](const std::string& invitation, Timeout limit) {
        return meeting_error([&] { meet_job(invitation, kClient, kNothingElse, limit); });
    };
    EXPECT_TRUE(has_part(told("come in", 1s), "invalid_argument: this is not an invitation"));
    std::string left;
    {
        JobListener listener("lo", 0);
        left = listener.invitation();
        EXPECT_TRUE(has_part(told(left, 20ms), "timeout: the job that listens at 127.0.0.1"));
        EXPECT_TRUE(
            has_part(meeting_error([&] { listener.accept(kServer, kNothingElse, 20ms); }), "timeout: no job has connected in time"));
        const Meanwhile throwing = [] { throw Error(ErrorCode::peer_failed, "rank 3 died", 3); };
        EXPECT_EQ(meeting_error([&] { listener.accept(kServer, throwing, kMeetingLimit); }), "peer_failed: rank 3 died");
    }
    EXPECT_TRUE(has_part(told(left, 1s), "bootstrap: no job listens there: 127.0.0.1"));
    // A connection that closes while another one waits for its turn.
    Descriptor listening = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
    const SocketAddress address = SocketAddress::of(listening.get());
    auto waits = meeting_with(Invitation{address.address(), address.port(), Key::random()}.text(), kClient);
    pollfd entry{listening.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 30'000), 1);
    Descriptor accepted(::accept(listening.get(), nullptr, nullptr));
    Hello hello;
    ASSERT_EQ(::recv(accepted.get(), hello.data(), hello.size(), MSG_WAITALL), static_cast<ssize_t>(hello.size()));
    accepted.reset();
    const std::string ended = meeting_error([&] { waits.get(); });
    EXPECT_TRUE(has_part(ended, "peer_failed: the job that listens at")) << ended;
}

// A host that is gone, or drops what comes in. Here it is a queue of connections that is full.
TEST(JobListener, IsNotWaitedForLongerThanTheDeadlineWhereNobodyAnswers) {
    const Descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto any_port = *SocketAddress::parse("127.0.0.1", 0);
    ASSERT_EQ(::bind(listening.get(), any_port.raw(), any_port.length()), 0);
    ASSERT_EQ(::listen(listening.get(), 0), 0);
    const SocketAddress address = SocketAddress::of(listening.get());
    std::string why;
    const Descriptor only = connect_to(address, deadline_after(kMeetingLimit), why);
    ASSERT_TRUE(only) << why;
    const std::string invitation = Invitation{address.address(), address.port(), Key::random()}.text();
    int looks = 0;
    const Meanwhile counting = [&] { ++looks; };
    const std::string late = meeting_error([&] { meet_job(invitation, kClient, counting, 20ms); });
    EXPECT_TRUE(has_part(late, "timeout: no answer came in time from 127.0.0.1")) << late;
    EXPECT_GT(looks, 0);
    EXPECT_EQ(meeting_error([&] { meet_job("", kClient, counting, 20ms); }), "invalid_argument: the invitation is empty");
    const Meanwhile throwing = [] { throw Error(ErrorCode::peer_failed, "rank 3 died", 3); };
    EXPECT_EQ(meeting_error([&] { meet_job(invitation, kClient, throwing, kMeetingLimit); }), "peer_failed: rank 3 died");
}

}  // namespace
}  // namespace rollcall::bootstrap
