// Threads that drive a lane: the baton is given back whatever happens, peers are served whatever the calls are, the background thread keeps
// away when it is told to, and no thread misses a wake-up.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <new>
#include <string_view>
#include <thread>

#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

using std::chrono::milliseconds;

IdlePolicy with_background() {
    IdlePolicy policy;
    policy.follow_application = false;
    policy.tick = 50'000;
    policy.quiet = kMillisecond;
    return policy;
}

// Ends when it begins.
struct AtOnce final : Waitable {
    void begin(Engine&) override { set_done(); }
    void abandon(Engine&, const Error&) override { set_done(); }
};

TEST(Lane, GivesTheBatonBackWhenACallThrows) {
    LaneUnderTest test(host_driven());
    const auto is_free = [&] {
        AtOnce call;
        test.lane.start(call);  // where another thread has the baton it goes to the queue
        return call.done();
    };
    Throws started, run;
    EXPECT_THROW(test.lane.start(started), std::bad_alloc);
    ASSERT_TRUE(is_free());
    EXPECT_THROW(test.lane.run(run, kForever), std::bad_alloc);
    ASSERT_TRUE(is_free());
    for (const Throws* const each : {&started, &run}) EXPECT_TRUE(each->done() && each->error()) << "other ranks are told";
    EXPECT_THROW(test.lane.as_owner([](Engine&) { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_TRUE(is_free());
}

// A rank that has computed for a while would otherwise wake that thread in each call.
TEST(Lane, LetsTheParkedThreadSleepThroughCallsThatEndAtOnce) {
    LaneUnderTest test(with_background());
    const LaneCounters& counters = test.lane.counters();
    while (counters.background_parks < 1) std::this_thread::sleep_for(milliseconds(1));
    while (!test.lane.run_at_once([](Engine&, unsigned) { return true; })) std::this_thread::yield();  // that thread still has the baton
    const std::uint64_t looks = counters.background_looks, polls = test.network.polls;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(test.lane.run_at_once([](Engine& engine, unsigned) { return engine.sleeps(); }));
    EXPECT_EQ(counters.background_looks, looks);
    EXPECT_EQ(test.network.polls, polls);
    // This one has sent a message, which may need a poll.
    EXPECT_TRUE(test.lane.run_at_once([](Engine& engine, unsigned) {
        engine.set_sleeping(false);
        return true;
    }));
    EXPECT_GT(test.network.polls, polls);
    while (counters.background_parks < 2) std::this_thread::sleep_for(milliseconds(1));
}

// The program has prepared to sleep, and makes short calls instead. Nobody else looks for messages meanwhile.
TEST(Lane, WithoutABackgroundThreadShortCallsLookThoughTheLoopSleeps) {
    LaneUnderTest test(host_driven());
    ASSERT_TRUE(test.lane.prepare_to_sleep());
    const std::uint64_t polls = test.network.polls;
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(test.lane.run_at_once([](Engine&, unsigned) { return true; }));
    EXPECT_GT(test.network.polls, polls);
}

TEST(Lane, ServesPeersThoughAllCallsEndAtOnce) {
    for (const bool waits : {false, true}) {
        LaneUnderTest test(host_driven());
        for (int round = 0; round < 20; ++round) {
            const std::uint64_t before = test.network.polls;
            for (int i = 0; i < 50; ++i) {
                AtOnce call;
                if (waits)
                    test.lane.run(call, kForever);
                else
                    test.lane.start(call);
                ASSERT_TRUE(call.done());
            }
            ASSERT_GT(test.network.polls, before) << "50 calls, and peers were not served";
        }
    }
}

// Nobody else would ever find that the suspicion of a peer has lasted long enough.
TEST(Lane, DoesWhatIsDueThoughAllCallsEndAtOnce) {
    IdlePolicy policy = with_background();
    policy.tick = 20 * kMillisecond;
    policy.quiet = 100'000 * kMillisecond;  // the background thread never sleeps until something is due
    LaneUnderTest test(policy);
    Transfer lost = EngineUnderTest::receive(1, 0);
    test.lane.start(lost);
    test.lane.as_owner([&](Engine&) { test.network.sink->on_peer_unreachable(1, "its cable is cut"); });
    for (const auto end = std::chrono::steady_clock::now() + kPatience; !lost.done() && std::chrono::steady_clock::now() < end;)
        for (int i = 0; i < 100; ++i) test.lane.run_at_once([](Engine&, unsigned) { return true; });
    ASSERT_TRUE(lost.done());
    EXPECT_TRUE(lost.error());
}

// --- the background thread -----------------------------------------------------------------------------------------------

// It has taken over, and each of its polls brings something.
void await_background(LaneUnderTest& test) {
    test.network.begin_traffic();
    for (const std::uint64_t before = test.network.polls; test.network.polls < before + 100;) std::this_thread::sleep_for(milliseconds(1));
}

TEST(Background, IsStoppedThoughTrafficGoesOn) {
    LaneUnderTest test(with_background());
    await_background(test);
    auto stopped = std::async(std::launch::async, [&] { test.lane.stop_background(); });
    EXPECT_EQ(stopped.wait_for(kPatience), std::future_status::ready);
    test.network.end_traffic();
}

TEST(Background, TellsItsTimeAlsoAfterItsEnd) {
    LaneUnderTest test(with_background());
    await_background(test);
    test.network.end_traffic();
    const Nanoseconds before = test.lane.background_cpu_time();
    EXPECT_GT(before, 0);
    auto asked = std::async(std::launch::async, [&] {
        for (int i = 0; i < 1000; ++i) EXPECT_GE(test.lane.background_cpu_time(), before);
    });
    test.lane.stop_background();
    asked.get();
    EXPECT_GE(test.lane.background_cpu_time(), before);
}

TEST(Background, IsPausedThoughTrafficGoesOn) {
    LaneUnderTest test(with_background());
    await_background(test);
    test.lane.pause_background();
    const std::uint64_t before = test.network.polls;
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_EQ(test.network.polls, before);
    test.lane.resume_background();
    await_background(test);
    test.network.end_traffic();
}

TEST(Background, TakesNoSignalsOfTheProgram) {
    static std::atomic<bool> taken;
    taken = false;
    struct sigaction before {
    }, during{};
    during.sa_handler = [](int) { taken = true; };
    ASSERT_EQ(::sigaction(SIGUSR1, &during, &before), 0);
    {
        LaneUnderTest test(with_background());
        sigset_t signal, all_before;
        ::sigemptyset(&signal);
        ::sigaddset(&signal, SIGUSR1);
        ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &signal, &all_before), 0);
        ::kill(::getpid(), SIGUSR1);
        await_background(test);  // where it takes the signal, it has taken it by then
        test.network.end_traffic();
        EXPECT_FALSE(taken);
        const timespec now{};
        EXPECT_EQ(::sigtimedwait(&signal, nullptr, &now), SIGUSR1) << "it waits for a thread of the program";
        ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &all_before, nullptr), 0);
    }
    ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(Background, WithoutThreadsIsAnErrorThatSaysSo) {
    constexpr int kSaysSo = 1, kSaysOtherwise = 2, kHasThread = 3, kStaysRoot = 4, kHasNoLimit = 5;
    const pid_t user = ::fork();
    if (user == 0) {
        // The limit does not hold for root.
        constexpr uid_t kNobody = 65534;
        const rlimit none{};
        if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(kHasNoLimit);
        if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(kStaysRoot);
        try {
            const LaneUnderTest test(with_background());
            ::_exit(kHasThread);
        } catch (const Error& error) {
            const bool names_it = std::string_view(error.what()).find("(ulimit -u, or pids.max") != std::string_view::npos;
            ::_exit(error.code() == ErrorCode::state && names_it ? kSaysSo : kSaysOtherwise);
        } catch (...) {
            ::_exit(kSaysOtherwise);
        }
    }
    ASSERT_GT(user, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(user, &status, 0), user);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    if (WEXITSTATUS(status) == kStaysRoot) GTEST_SKIP() << "the limit does not hold for root, and this root may not become another user";
    EXPECT_EQ(WEXITSTATUS(status), kSaysSo);
}

// A message that comes while it is about to sleep does not wait for its next look.
TEST(Background, DoesNotSleepWhileThereIsWork) {
    IdlePolicy policy = with_background();
    policy.tick = 3'600'000 * kMillisecond;
    policy.quiet = 0;
    LaneUnderTest test(policy);
    Transfer receive = LaneUnderTest::receive(1, 7);
    test.lane.start(receive);
    test.network.bring_before_sleep(1, 7);
    test.lane.pause_background();
    test.lane.resume_background();  // it looks at once
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!receive.done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(receive.done());
    if (!receive.done()) test.lane.abandon(receive, Error(ErrorCode::timeout, "the test is over"));
}

// --- many threads --------------------------------------------------------------------------------------------------------

TEST(Threads, NoneMissesItsWakeUp) {
    constexpr int kMessages = 2000;
    for (const int threads : {2, 3, 5}) {
        LaneUnderTest test(host_driven(0));  // a thread that waits sleeps as soon as it can
        std::vector<std::future<void>> received;
        for (int thread = 0; thread < threads; ++thread)
            received.push_back(std::async(std::launch::async, [&test, tag = static_cast<std::uint64_t>(thread)] {
                for (int i = 0; i < kMessages; ++i) {
                    Transfer receive = LaneUnderTest::receive(1, tag);
                    test.network.bring(1, tag);
                    test.lane.run(receive, kForever);
                }
            }));
        for (auto& its : received) {
            if (its.wait_for(kPatience) == std::future_status::ready) continue;
            ADD_FAILURE() << "one of " << threads << " threads sleeps forever";
            while (its.wait_for(milliseconds(1)) != std::future_status::ready) test.lane.as_owner([](Engine&) {});  // wakes it
        }
    }
}

// One of them drives and sleeps, and the others sleep until it leaves.
TEST(Threads, AreWokenWhenTheLaneEnds) {
    for (const bool background : {false, true}) {
        IdlePolicy policy = background ? with_background() : host_driven();
        policy.spin = 0;
        LaneUnderTest test(policy);
        std::vector<std::future<bool>> waits;
        for (std::uint64_t thread = 0; thread < 3; ++thread)
            waits.push_back(std::async(std::launch::async, [&test, thread] {
                Transfer receive = LaneUnderTest::receive(1, thread);
                test.lane.start(receive);
                const bool done = test.lane.wait(receive, kForever);
                test.lane.abandon(receive, Error(ErrorCode::state, "the test has ended"));
                return done || !receive.done();
            }));
        while (test.lane.counters().caller_sleeps.load() == 0) std::this_thread::sleep_for(milliseconds(1));
        test.lane.stop_background();
        test.lane.end();
        for (auto& its : waits) {
            if (its.wait_for(kPatience) != std::future_status::ready) {
                ADD_FAILURE() << "a thread waits in a lane that has ended";
                for (std::uint64_t thread = 0; thread < 3; ++thread) test.network.bring(1, thread);
            }
            EXPECT_FALSE(its.get());
        }
        AtOnce call;
        EXPECT_TRUE(test.lane.run(call, kForever)) << "what ends at once needs no waiting";
        Transfer later = LaneUnderTest::receive(1, 7);
        EXPECT_FALSE(test.lane.run(later, kForever));
        test.lane.abandon(later, Error(ErrorCode::state, "the test has ended"));
        EXPECT_TRUE(later.done());
    }
}

// Threads that call in turns get the baton from each other without a wake-up by the kernel, which takes tens of microseconds.
TEST(Threads, SpinBeforeTheySleepForTheBaton) {
    constexpr int kCalls = 10;
    IdlePolicy policy = host_driven(60'000 * kMillisecond);
    policy.yield = true;  // Even on a busy machine, the thread that holds the baton spins.
    LaneUnderTest test(policy);
    std::promise<void> go_on[kCalls];
    auto slept = std::async(std::launch::async, [&] {
        rusage before{}, after{};
        long sum = 0;
        for (auto& its : go_on) {
            its.get_future().wait();
            Transfer receive = LaneUnderTest::receive(1, 0);
            getrusage(RUSAGE_THREAD, &before);
            EXPECT_TRUE(test.lane.run(receive, kPatience));
            getrusage(RUSAGE_THREAD, &after);
            sum += after.ru_nvcsw - before.ru_nvcsw;
        }
        return sum;
    });
    for (auto& its : go_on)
        test.lane.as_owner([&](Engine&) {
            its.set_value();
            std::this_thread::sleep_for(milliseconds(5));  // if the other one comes later it has nothing to wait for
            test.network.bring(1, 0);
        });
    EXPECT_LT(slept.get(), kCalls / 2);
}

// --- work that is driven by time -----------------------------------------------------------------------------------------

// A receive from a peer that becomes unreachable ends when its suspicion is over, half a second later. A thread that waits for it, and in
// whatever way, sleeps until then or looks again and again, and hears of it.
class EndOfASuspicion {
  public:
    using Way = void (EndOfASuspicion::*)();
    EndOfASuspicion(const char* name, const IdlePolicy& policy, Way way)
        : test_(policy), name_(name), waits_(std::async(std::launch::async, [this, way] { (this->*way)(); })) {}

    void expect() {
        if (waits_.wait_for(kPatience) != std::future_status::ready) {
            ADD_FAILURE() << name_ << " waits forever";
            stops_ = true;
            test_.lane.abandon(receive_, Error(ErrorCode::timeout, "not told"));
        }
        waits_.get();
        EXPECT_TRUE(receive_.done() && receive_.error()) << name_;
    }

    void call() {
        begin();
        test_.lane.wait(receive_, kForever);
    }
    // Each wait is over at its first look.
    void look() {
        begin();
        while (!test_.lane.wait(receive_, Timeout::zero()) && !stops_) {
        }
    }
    void follow() {
        Transfer other = LaneUnderTest::receive(2, 7);
        auto driver = std::async(std::launch::async, [&] { test_.lane.run(other, kForever); });
        while (test_.network.polls == 0) std::this_thread::yield();
        begin();
        for (const std::uint64_t before = test_.network.polls; test_.network.polls == before;)
            std::this_thread::yield();  // it drives again
        test_.lane.wait(receive_, kForever);
        test_.network.bring(2, 7);
    }
    void loop() {
        const int descriptor = test_.lane.descriptor();
        begin();
        int rounds = 0;
        for (; !receive_.done(); ++rounds) {
            if (test_.lane.prepare_to_sleep()) {
                pollfd entry{descriptor, POLLIN, 0};
                EXPECT_EQ(::poll(&entry, 1, static_cast<int>(milliseconds(kPatience).count())), 1) << name_ << " hears nothing";
            }
            test_.lane.progress();
        }
        // The event loop is woken when the receive ends, and only a few times besides.
        EXPECT_LE(rounds, 20) << name_;
    }

  private:
    void begin() {
        test_.lane.start(receive_);
        test_.lane.as_owner([&](Engine&) { test_.network.sink->on_peer_unreachable(1, "it does not answer"); });
    }

    LaneUnderTest test_;
    Transfer receive_ = LaneUnderTest::receive(1, 7);
    const char* name_;
    std::atomic<bool> stops_ = false;
    std::future<void> waits_;
};

TEST(TimeDrivenWork, IsDoneAndToldWhoeverSleeps) {
    EndOfASuspicion scenes[] = {{"a caller", host_driven(), &EndOfASuspicion::call},
                                {"a caller beside a background thread", with_background(), &EndOfASuspicion::call},
                                {"a caller that only looks", host_driven(), &EndOfASuspicion::look},
                                {"a caller that only looks beside a background thread", with_background(), &EndOfASuspicion::look},
                                {"a follower", host_driven(), &EndOfASuspicion::follow},
                                {"an event loop", host_driven(), &EndOfASuspicion::loop},
                                {"an event loop beside a background thread", with_background(), &EndOfASuspicion::loop}};
    for (EndOfASuspicion& scene : scenes) scene.expect();
}

}  // namespace
}  // namespace rollcall::runtime
