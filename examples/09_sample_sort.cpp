// Sample sort: each rank has unsorted numbers. At the end rank 0 has the smallest ones, rank 1 has the next ones, and so on. An allgather
// gives all ranks the same samples, from which all compute the same borders. An alltoall exchanges how many numbers each rank sends to each
// other rank. Another alltoall, with blocks of different sizes, moves the numbers.
//
//     rollcall run -n 4 build/release/examples/09_sample_sort
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include <rollcall/rollcall.hpp>

constexpr std::size_t kNumbers = 100'000, kSamples = 64;  // of each rank

// What the others need to know about a rank's result.
struct Result {
    std::uint32_t first, last;
    std::size_t count;  // 0: there are no first and last numbers
};

// Returns the borders between the parts of the ranks. They are the same on all ranks, because all have the same samples.
std::vector<std::uint32_t> borders_from(std::vector<std::uint32_t> samples, std::size_t ranks) {
    std::sort(samples.begin(), samples.end());
    std::vector<std::uint32_t> borders;
    for (std::size_t rank = 1; rank < ranks; ++rank) borders.push_back(samples[rank * kSamples]);
    return borders;
}

int main() {
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();
        const auto ranks = static_cast<std::size_t>(world.size());
        std::mt19937 random(static_cast<std::uint32_t>(world.rank()));
        std::vector<std::uint32_t> numbers(kNumbers);
        for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random());
        std::uint64_t sum = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
        std::sort(numbers.begin(), numbers.end());

        std::vector<std::uint32_t> own_samples, samples(ranks * kSamples);
        for (std::size_t i = 0; i < kSamples; ++i) own_samples.push_back(numbers[i * kNumbers / kSamples]);
        world.allgather(own_samples, samples);
        const std::vector<std::uint32_t> borders = borders_from(std::move(samples), ranks);

        // The numbers are sorted, so the numbers for one rank are contiguous.
        std::vector<std::size_t> to_send, to_receive(ranks);
        auto begin = numbers.begin();
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const auto end = rank + 1 < ranks ? std::lower_bound(begin, numbers.end(), borders[rank]) : numbers.end();
            to_send.push_back(static_cast<std::size_t>(end - begin));
            begin = end;
        }
        world.alltoall(to_send, to_receive);
        std::vector<std::uint32_t> sorted(std::accumulate(to_receive.begin(), to_receive.end(), std::size_t{0}));
        world.alltoall(numbers, rollcall::Blocks(to_send), sorted, rollcall::Blocks(to_receive));
        std::sort(sorted.begin(), sorted.end());

        // Checks that no number is lost, and that no rank has a smaller number than the rank before.
        const Result own = sorted.empty() ? Result{} : Result{sorted.front(), sorted.back(), sorted.size()};
        std::vector<Result> results(ranks);
        world.allgather(own, results);
        std::erase_if(results, [](const Result& result) { return result.count == 0; });
        std::uint64_t sum_after = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
        world.allreduce(sum, rollcall::sum);
        world.allreduce(sum_after, rollcall::sum);
        const auto overlap = [](const Result& lower, const Result& upper) { return lower.last > upper.first; };
        const bool is_sorted = std::adjacent_find(results.begin(), results.end(), overlap) == results.end() && sum == sum_after;
        std::printf("rank %d has %zu numbers from %u to %u\n", world.rank(), own.count, own.first, own.last);
        if (world.rank() == 0)
            std::printf("%zu numbers on %zu ranks are %s\n", ranks * kNumbers, ranks, is_sorted ? "sorted" : "in no order");
        job.finalize();
        return is_sorted ? 0 : 1;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
