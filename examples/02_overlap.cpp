// Overlap: rank 0 sends 8 MiB to rank 1, which computes for 100 ms. The data moves during the computation. If the receive was started
// before, the data moves directly into its buffer; otherwise it moves into a landing buffer. In both cases the sender does not wait for the
// receiver. With ROLLCALL_LANDING_BYTES=0 it does wait in the second case.
//
//     rollcall run -n 2 build/release/examples/02_overlap
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

#include <rollcall/rollcall.hpp>

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

void compute(std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
    }
}

int main() {
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();
        if (world.size() != 2) {
            if (world.rank() == 0) std::fprintf(stderr, "02_overlap needs 2 ranks: rollcall run -n 2 02_overlap\n");
            return 2;
        }

        std::vector<int> numbers(2 << 20);
        for (const bool announced : {true, false}) {
            const char* const how = announced ? "announced" : "unannounced";
            world.barrier();
            if (world.rank() == 0) {
                std::iota(numbers.begin(), numbers.end(), 0);
                const auto start = Clock::now();
                world.send(numbers, 1);
                std::printf("%s: the send was done after %.1f ms\n", how, milliseconds_since(start));
            } else {
                std::fill(numbers.begin(), numbers.end(), -1);
                rollcall::Request request;
                if (announced) request = world.start_receive(numbers, 0);
                compute(std::chrono::milliseconds(100));
                const auto start = Clock::now();
                if (!announced) request = world.start_receive(numbers, 0);
                const auto count = request.wait().count<int>();
                const double waited = milliseconds_since(start);
                bool right = count == numbers.size();
                for (std::size_t i = 0; i < numbers.size(); ++i) right = right && numbers[i] == static_cast<int>(i);
                std::printf("%s: after computing for 100 ms the receiver waited %.1f ms; the data is %s\n", how, waited,
                            right ? "right" : "wrong");
                if (!right) return 1;
            }
        }
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
