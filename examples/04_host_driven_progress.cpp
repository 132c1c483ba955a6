// Host-driven progress: a program with its own event loop drives Rollcall from that loop, without a background thread. The loop sleeps in
// one poll() on its own events (here a timer) and on Rollcall's descriptor.
//
//     rollcall run -n 2 build/release/examples/04_host_driven_progress
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rollcall/rollcall.hpp>

int main() {
    try {
        ::setenv("ROLLCALL_PROGRESS", "host", 1);  // must be set before the job is made; usually set outside the program
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();

        // Every rank except the last one waits for a message from the next rank. The last rank sends after a delay.
        constexpr std::chrono::milliseconds kThinking(100);
        const int last = world.size() - 1;
        if (world.rank() == last) std::this_thread::sleep_for(kThinking);
        int number = world.rank() == last ? 42 : 0;

        rollcall::Request request = world.rank() == last ? rollcall::Request() : world.start_receive(number, world.rank() + 1);
        const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        const itimerspec every_10_ms{{0, 10'000'000}, {0, 10'000'000}};
        ::timerfd_settime(timer, 0, &every_10_ms, nullptr);

        std::uint64_t ticks = 0;
        while (!request.test()) {
            pollfd events[] = {{timer, POLLIN, 0}, {job.progress_descriptor(), POLLIN, 0}};
            // False: there is already something to do. poll() ignores a descriptor below 0.
            const bool may_sleep = job.prepare_to_sleep();
            ::poll(events, 2, may_sleep ? -1 : 0);
            std::uint64_t expired = 0;
            if (events[0].revents && ::read(timer, &expired, sizeof expired) == sizeof expired) ticks += expired;
            while (job.progress()) {
            }
        }
        ::close(timer);

        if (world.rank() > 0) world.send(number, world.rank() - 1);
        std::printf("rank %d has the number %d%s\n", world.rank(), number, ticks ? ", and its timer went on meanwhile" : "");
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
