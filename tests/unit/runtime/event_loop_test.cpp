// The descriptor that a host program's event loop sleeps on.
#include "runtime/lane/event_loop.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <rollcall/error.hpp>

namespace rollcall::runtime {
namespace {

bool is_readable(int descriptor, int milliseconds = 0) {
    pollfd entry{descriptor, POLLIN, 0};
    return ::poll(&entry, 1, milliseconds) == 1;
}

struct Watched {
    Watched() { loop.open(transport.get(), notices.get()); }
    bool readable(int milliseconds = 0) const { return is_readable(loop.get(), milliseconds); }
    EventDescriptor transport, notices;
    EventLoop loop;
};

TEST(EventLoop, HearsEachOfItsSources) {
    Watched watched;
    EXPECT_FALSE(watched.readable());
    for (EventDescriptor* source : {&watched.transport, &watched.notices}) {
        source->signal();
        EXPECT_TRUE(watched.readable());
        source->clear();
        EXPECT_FALSE(watched.readable());
    }
    watched.loop.signal();
    watched.loop.signal();
    EXPECT_TRUE(watched.readable());
    watched.loop.clear_signal();
    EXPECT_FALSE(watched.readable()) << "one clear for all signals";
}

TEST(EventLoop, IsOpenedByALaterCallIfDescriptorsHadRunOut) {
    EventDescriptor source;
    EventLoop loop;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const int free = ::dup(source.get());
    ::close(free);
    for (const int more : {0, 1}) {
        const rlimit less{static_cast<rlim_t>(free + more), limit.rlim_max};  // none or one is left
        ::setrlimit(RLIMIT_NOFILE, &less);
        EXPECT_THROW(loop.open(source.get(), -1), Error);
        ::setrlimit(RLIMIT_NOFILE, &limit);
        EXPECT_FALSE(loop.is_open());
    }
    const int next = ::dup(source.get());
    ::close(next);
    EXPECT_EQ(next, free) << "the one that was left has been closed again";
    loop.open(source.get(), -1);
    source.signal();
    EXPECT_TRUE(is_readable(loop.get()));
}

TEST(EventLoop, TheTransportIsHeardWhileItIsWatched) {
    Watched watched;
    watched.loop.watch_transport(false);
    watched.transport.signal();
    EXPECT_FALSE(watched.readable());
    watched.notices.signal();
    EXPECT_TRUE(watched.readable());
    watched.notices.clear();
    watched.loop.watch_transport(false);
    EXPECT_FALSE(watched.readable());
    watched.loop.watch_transport(true);
    EXPECT_TRUE(watched.readable()) << "what came meanwhile";
}

TEST(EventLoop, WakesAtItsTime) {
    Watched watched;
    const Nanoseconds when = monotonic_now() + 20 * kMillisecond;
    watched.loop.wake_at(when);
    EXPECT_TRUE(watched.readable(10'000));
    EXPECT_GE(monotonic_now(), when);
    watched.loop.wake_at(kNever);
    EXPECT_FALSE(watched.readable());
}

TEST(EventLoop, ATimeThatIsOverWakesAtOnceAndAgain) {
    Watched watched;
    const Nanoseconds past = monotonic_now() - kMillisecond;
    for (int i = 0; i < 3; ++i) {
        watched.loop.wake_at(past);
        EXPECT_TRUE(watched.readable(10'000)) << i;
    }
    watched.loop.wake_at(0);
    EXPECT_TRUE(watched.readable(10'000)) << "and so does the beginning of time";
}

TEST(EventLoop, ALaterTimeReplacesAnEarlierOne) {
    Watched watched;
    watched.loop.wake_at(monotonic_now() - kMillisecond);
    EXPECT_TRUE(watched.readable(10'000));
    const Nanoseconds later = monotonic_now() + 3600'000 * kMillisecond;
    watched.loop.wake_at(later);
    watched.loop.wake_at(later);
    EXPECT_FALSE(watched.readable(20));
    watched.loop.wake_at(monotonic_now() + kMillisecond);
    EXPECT_TRUE(watched.readable(10'000)) << "and an earlier one a later one";
}

TEST(EventLoop, NeedsNeitherTransportNorNotices) {
    EventLoop loop;
    EXPECT_FALSE(loop.is_open());
    loop.open(-1, -1);
    EXPECT_TRUE(loop.is_open());
    loop.watch_transport(false);
    loop.watch_transport(true);
    EXPECT_FALSE(is_readable(loop.get()));
    loop.signal();
    EXPECT_TRUE(is_readable(loop.get()));
}

}  // namespace
}  // namespace rollcall::runtime
