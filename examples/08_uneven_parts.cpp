// Uneven parts: rank 0 has 1000 numbers, and each rank takes more of them than the rank before. A scatter gives each rank its part. A
// completion queue tells rank 0 which sums have come, in the order in which they come.
//
//     rollcall run -n 4 build/release/examples/08_uneven_parts
#include <cstdio>
#include <numeric>
#include <vector>

#include <rollcall/rollcall.hpp>

constexpr int kNumbers = 1000;

// The size of a rank's part is proportional to its number plus one. The last rank also gets the remainder.
std::vector<int> counts_for(int ranks) {
    const int weights = ranks * (ranks + 1) / 2;
    std::vector<int> counts;
    for (int rank = 0; rank < ranks; ++rank) counts.push_back(kNumbers * (rank + 1) / weights);
    counts.back() += kNumbers - std::accumulate(counts.begin(), counts.end(), 0);
    return counts;
}

int main() {
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();
        const std::vector<int> counts = counts_for(world.size());
        std::vector<double> part(static_cast<std::size_t>(counts[static_cast<std::size_t>(world.rank())]));

        if (world.rank() == 0) {
            std::vector<double> numbers(kNumbers);
            std::iota(numbers.begin(), numbers.end(), 1.0);
            world.scatter(numbers, rollcall::Blocks(counts), part, 0);
        } else {
            world.scatter({}, rollcall::Blocks(), part, 0);  // only the root must know the sizes of all parts
        }
        const double sum = std::accumulate(part.begin(), part.end(), 0.0);
        if (world.rank() != 0) {
            world.send(sum, 0);
            job.finalize();
            return 0;
        }

        std::vector<double> sums(static_cast<std::size_t>(world.size()), sum);
        rollcall::CompletionQueue queue(world);
        for (int rank = 1; rank < world.size(); ++rank) {
            double& place = sums[static_cast<std::size_t>(rank)];
            queue.add(world.start_receive(place, rank), static_cast<std::uint64_t>(rank));
        }
        while (queue.size() > 0) {
            const rollcall::Completion completion = queue.next();
            if (completion.error) throw *completion.error;
            const auto rank = static_cast<std::size_t>(completion.context);
            std::printf("rank %zu has added up %d numbers: %g\n", rank, counts[rank], sums[rank]);
        }
        std::printf("all of them together: %g\n", std::accumulate(sums.begin(), sums.end(), 0.0));
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
