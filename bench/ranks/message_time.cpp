#include "bench/ranks/message_time.hpp"

#include <vector>

#include "bench/ranks/clock.hpp"
#include "bench/results/statistics.hpp"

namespace rollcall::bench {
namespace {

// The number of round trips in a sample of short messages, and the number of samples.
constexpr std::uint64_t kShortMessage = 64 << 10;
constexpr int kShortRoundTrips = 20;
constexpr int kRoundTripSamples = 15;
constexpr int kRoundTripWarmup = 3;
constexpr Tag kRoundTripTag = 1;

}  // namespace

Nanoseconds message_time(const Communicator& world, int root, std::uint64_t bytes) {
    const int n = world.size();
    if (n < 2) return 0;
    const int partner = (root + 1) % n;
    const int round_trips = bytes <= kShortMessage ? kShortRoundTrips : 1;
    std::vector<std::byte> data(bytes);
    std::vector<double> samples;
    world.barrier();
    for (int sample = -kRoundTripWarmup; sample < kRoundTripSamples; ++sample) {
        const Nanoseconds begin = monotonic_now();
        for (int trip = 0; trip < round_trips; ++trip) {
            if (world.rank() == root) {
                world.send(data.data(), bytes, partner, kRoundTripTag);
                world.receive(data.data(), bytes, partner, kRoundTripTag);
            } else if (world.rank() == partner) {
                world.receive(data.data(), bytes, root, kRoundTripTag);
                world.send(data.data(), bytes, root, kRoundTripTag);
            }
        }
        if (sample >= 0) samples.push_back(static_cast<double>(monotonic_now() - begin) / (2 * round_trips));
    }
    auto time = static_cast<Nanoseconds>(estimate(samples).median);
    world.broadcast(time, root, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
    return time;
}

}  // namespace rollcall::bench
