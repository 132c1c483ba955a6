// Late ranks: rank 1 comes 200 ms late to a broadcast. In a binomial tree the ranks below it wait too, although the root has had their data
// all the time. The algorithm arrival_nonblocking gives the data to the ranks that have arrived. By default rank 1 would pass the data on
// in the background, and no rank would wait for it with either algorithm. ROLLCALL_DECOUPLE=no turns that off here, as it is in other
// libraries: a rank takes part in a call only while it is in the call.
//
//     rollcall run -n 8 build/release/examples/05_late_ranks
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <rollcall/rollcall.hpp>

int main() {
    constexpr int kRoot = 0, kLate = 1;
    constexpr std::chrono::milliseconds kBy(200);
    constexpr int kTimes = 3;
    try {
        ::setenv("ROLLCALL_DECOUPLE", "no", 1);  // must be set before the job is made; usually set outside the program
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();
        std::vector<char> message(64 << 10, world.rank() == kRoot ? 'x' : '-');

        for (const char* const algorithm : {"binomial", "arrival_nonblocking"}) {
            std::vector<double> waits;  // milliseconds in the call
            for (int i = 0; i < kTimes; ++i) {
                rollcall::CallRecord record;
                rollcall::CollectiveOptions options;
                options.algorithm = algorithm;
                options.record = &record;
                world.barrier();
                if (world.rank() == kLate) std::this_thread::sleep_for(kBy);
                world.broadcast(message, kRoot, options);
                waits.push_back(static_cast<double>(record.exit - record.arrival) * 1e-6);
            }
            if (std::count(message.begin(), message.end(), 'x') != static_cast<long>(message.size()))
                throw rollcall::Error(rollcall::ErrorCode::state, "the message is wrong");
            std::nth_element(waits.begin(), waits.begin() + kTimes / 2, waits.end());

            const double wait = waits[kTimes / 2];
            if (world.rank() != 0) {
                world.send(wait, 0);
                continue;
            }
            std::printf("%s: rank %d comes %d ms late\n", algorithm, kLate, static_cast<int>(kBy.count()));
            int waiting = 0;
            for (int rank = 0; rank < world.size(); ++rank) {
                const double its = rank == 0 ? wait : world.receive<double>(rank);
                waiting += its > static_cast<double>(kBy.count()) / 2;
                std::printf("  rank %d waits %6.1f ms  %s\n", rank, its, std::string(static_cast<std::size_t>(its / 5), '#').c_str());
            }
            std::printf("  %d of %d ranks wait for it\n", waiting, world.size());
        }
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
