// A program that outlives its ranks: they add up a series in rounds, one of them dies, and those that are left share its work. Each rank
// keeps the sums of the finished rounds, so only the round in which the rank died is computed again.
//
//     rollcall run -n 4 --max-failures 1 build/release/examples/13_go_on
//
// An argument is the round in which the rank dies (default: 20).
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <rollcall/rollcall.hpp>

namespace {

constexpr std::size_t kRounds = 50;
constexpr int kTerms = 10'000;  // of a round

// This rank's part of a round of the Leibniz series.
double part_of(std::size_t round, const rollcall::Communicator& ranks) {
    double sum = 0;
    for (int i = ranks.rank(); i < kTerms; i += ranks.size()) {
        const double k = static_cast<double>(round) * kTerms + i;
        sum += (i % 2 ? -4.0 : 4.0) / (2 * k + 1);
    }
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t dies_in = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20;
    try {
        rollcall::Job job;
        rollcall::Communicator ranks = job.world();
        std::vector<double> sums;
        for (bool meets = false;; meets = true) {
            if (meets) ranks = ranks.shrink();  // if this fails, this rank cannot go on
            try {
                if (meets) {
                    // A rank may have finished a round in which others have failed. They go on where the last of them is.
                    std::size_t finished = sums.size();
                    ranks.allreduce(finished, rollcall::minimum);
                    if (finished == kRounds) break;
                    sums.resize(finished);
                }
                while (sums.size() < kRounds) {
                    if (sums.size() == dies_in && job.rank() == 1) std::raise(SIGKILL);
                    double sum = part_of(sums.size(), ranks);
                    ranks.allreduce(sum, rollcall::sum);
                    sums.push_back(sum);
                }
            } catch (const rollcall::Error& error) {
                if (error.code() != rollcall::ErrorCode::peer_failed) throw;
            }
        }
        if (ranks.rank() == 0)
            std::printf("pi is about %.5f; %d of %d ranks have finished\n", std::accumulate(sums.begin(), sums.end(), 0.0), ranks.size(),
                        job.size());
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
