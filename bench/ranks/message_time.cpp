#include "bench/ranks/message_time.hpp"

#include <cmath>
#include <vector>

#include "bench/ranks/clock.hpp"
#include "bench/results/figures.hpp"

namespace rollcall::bench {
namespace {

// The number of round trips in a sample of short messages, and the number of samples.
constexpr std::uint64_t kShortMessage = 64 << 10;
constexpr std::uint64_t kShortRoundTrips = 20;
constexpr int kRoundTripSamples = 15;
constexpr int kRoundTripWarmup = 3;
constexpr Tag kRoundTripTag = 1;

}  // namespace

int message_partner(int root, std::span<const int> hosts, int in_first) {
    const int n = static_cast<int>(hosts.size());
    int found = -1;
    for (int i = 1; i < n; ++i) {
        const int rank = (root + i) % n;
        if (in_first > 0 && (rank < in_first) == (root < in_first)) continue;
        if (hosts[static_cast<std::size_t>(rank)] != hosts[static_cast<std::size_t>(root)]) return rank;
        if (found < 0) found = rank;
    }
    return found;
}

int message_partner(const Communicator& world, int root, int in_first) {
    if (world.size() < 2) return -1;
    const Communicator host = world.split_by_host();
    const int own = host.world_rank(0);  // tells the hosts apart
    std::vector<int> hosts(static_cast<std::size_t>(world.size()));
    world.allgather(std::span(&own, 1), hosts);
    return message_partner(root, hosts, in_first);
}

Nanoseconds message_time(const Communicator& world, int root, int partner, std::uint64_t bytes) {
    if (partner < 0) return 0;
    const std::uint64_t round_trips = bytes <= kShortMessage ? kShortRoundTrips : 1;
    std::vector<std::byte> data(bytes);
    std::vector<double> samples;
    world.barrier();
    for (int sample = -kRoundTripWarmup; sample < kRoundTripSamples; ++sample) {
        const double seconds = seconds_of_direction(monotonic_now, round_trips, [&] {
            if (world.rank() == root) {
                world.send(data.data(), bytes, partner, kRoundTripTag);
                world.receive(data.data(), bytes, partner, kRoundTripTag);
            } else if (world.rank() == partner) {
                world.receive(data.data(), bytes, root, kRoundTripTag);
                world.send(data.data(), bytes, root, kRoundTripTag);
            }
        });
        if (sample >= 0) samples.push_back(seconds);
    }
    auto time = static_cast<Nanoseconds>(std::round(estimate(samples).median * 1e9));
    world.broadcast(time, root, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
    return time;
}

}  // namespace rollcall::bench
