// Two programs in one job: a simulation, whose ranks compute a field, and an analysis, which examines the whole field. Each group has a
// communicator of its own. Data from one group to the other goes over an intercommunicator.
//
//     rollcall run -n 6 build/release/examples/10_two_groups
#include <cstdio>
#include <vector>

#include <rollcall/rollcall.hpp>

namespace {

constexpr int kCells = 1000, kSteps = 3;  // cells of each rank of the simulation

void simulate(const rollcall::Intercommunicator& analysis) {
    const rollcall::Communicator& own = analysis.local();
    const std::vector<int> nothing(static_cast<std::size_t>(analysis.remote_size()));
    std::vector<double> field(kCells, own.rank()), received;
    double mean = 0;
    for (int step = 0; step < kSteps; ++step) {
        for (double& cell : field) cell = cell * 0.5 + step;
        // All ranks of the analysis get the whole field. They send nothing: their own blocks are empty.
        analysis.allgather(field, received, rollcall::Blocks(nothing));
        // The first rank of the analysis sends the mean to the simulation.
        analysis.broadcast(mean, rollcall::Theirs{0});
    }
    if (own.rank() == 0) std::printf("the simulation was told a mean of %.4f\n", mean);
}

void analyse(const rollcall::Intercommunicator& simulation) {
    const rollcall::Communicator& own = simulation.local();
    const std::vector<int> counts(static_cast<std::size_t>(simulation.remote_size()), kCells);
    std::vector<double> field(counts.size() * kCells), nothing;
    for (int step = 0; step < kSteps; ++step) {
        simulation.allgather(nothing, field, rollcall::Blocks(counts));
        // Each rank adds up a part of the field.
        double sum = 0, total = 0;
        for (std::size_t i = static_cast<std::size_t>(own.rank()); i < field.size(); i += static_cast<std::size_t>(own.size()))
            sum += field[i];
        own.allreduce(sum, total, rollcall::sum);
        double mean = total / static_cast<double>(field.size());
        simulation.broadcast(mean, rollcall::Mine{0});
        if (own.rank() == 0) std::printf("step %d: the mean of %zu cells is %.4f\n", step, field.size(), mean);
    }
}

}  // namespace

int main() {
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();
        // The last third of the ranks belongs to the analysis.
        std::vector<int> computing, analysing;
        for (int rank = 0; rank < world.size(); ++rank) (3 * rank < 2 * world.size() ? computing : analysing).push_back(rank);
        const rollcall::Intercommunicator between = world.create_intercommunicator(computing, analysing);
        if (3 * world.rank() < 2 * world.size())
            simulate(between);
        else
            analyse(between);
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
