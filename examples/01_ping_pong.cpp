// Ping-pong: two ranks send each other a typed value and measure how long half a round trip takes.
//
//     rollcall run -n 2 build/release/examples/01_ping_pong
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <rollcall/rollcall.hpp>

struct Ball {
    long hits = 0;
    double speed = 1.0;
};

int main() {
    constexpr int kRoundTrips = 1000;
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();
        if (world.size() != 2) {
            if (world.rank() == 0) std::fprintf(stderr, "01_ping_pong needs 2 ranks: rollcall run -n 2 01_ping_pong\n");
            return 2;
        }

        Ball ball;
        std::vector<double> half;  // of each round trip, in microseconds
        for (int i = 0; i < kRoundTrips; ++i) {
            if (world.rank() == 0) {
                const auto start = std::chrono::steady_clock::now();
                ++ball.hits;
                world.send(ball, 1);
                ball = world.receive<Ball>(1);
                half.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 2);
            } else {
                ball = world.receive<Ball>(0);
                ++ball.hits;
                world.send(ball, 0);
            }
        }
        if (world.rank() == 0) {
            std::nth_element(half.begin(), half.begin() + kRoundTrips / 2, half.end());
            std::printf("the ball of %zu bytes was hit %ld times; half a round trip takes %.2f us (median) over %s\n", sizeof ball,
                        ball.hits, half[kRoundTrips / 2], job.transport_description().c_str());
        }
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
