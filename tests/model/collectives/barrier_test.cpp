// Barriers among other calls. No rank leaves a barrier before all have entered it, whatever else its communicators do meanwhile. A barrier
// over the boards never takes another call for an entry.
#include <algorithm>
#include <cstring>
#include <deque>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/arrivals/board.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::Call;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

Step barrier_step(const AlgorithmEntry& entry) {
    Step step;
    step.entry = &entry;
    step.root = -1;
    return step;
}

// Calls of all kinds. All barriers use one algorithm, as those of one communicator do.
std::vector<Step> mixed_steps(Random& random, int n, const AlgorithmEntry& barrier, std::int64_t count) {
    std::vector<Step> steps;
    for (; count > 0; --count) {
        Step step = barrier_step(barrier);
        if (random.chance(0.4)) {
            step.entry = random.pick(moving_algorithms());
            step.root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            step.bytes = random.pick(std::vector<std::uint64_t>{0, 8, 65, 500});
        }
        const int late = std::max(0, step.root);
        step.delays = random_delays(random, n, late, random.pick(std::vector<Nanoseconds>{0, 50, 500, 5000}));
        step.at_once = random.chance(0.3);
        if (step.root >= 0) plan_at_random(random, step);
        steps.push_back(std::move(step));
    }
    return steps;
}

bool planned(const std::vector<Step>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return !step.plans.empty(); });
}

TEST(Barrier, AmongOtherCalls) {
    Random random(61);
    int barriers = 0;
    for (int repetition = 0; repetition < repetitions(1500); ++repetition) {
        const int n = static_cast<int>(random.between(1, random.chance(0.2) ? kSanitized ? 12 : 40 : 9));
        const auto options = random_machine(random, n, 500);
        const auto steps = mixed_steps(random, n, *random.pick(algorithms(OperationKind::barrier)), random.between(1, 12));
        SCOPED_TRACE(describe(options) + describe(steps));
        Simulation simulation(options);
        Job job(simulation, steps);
        job.run();
        job.expect_success();
        job.expect_clean();
        if (HasFailure()) return;
        if (planned(steps) || options.model.cut_through) continue;  // The simulation does not tell when each call begins.
        Times last(static_cast<std::size_t>(n));                    // The time at which each rank made its last call.
        for (std::size_t i = 0; i < steps.size(); ++i) {
            for (int rank = 0; rank < n; ++rank) {
                Nanoseconds& entered = last[static_cast<std::size_t>(rank)];
                if (i > 0 && !steps[i].at_once) entered = job.exit(rank, i - 1);
                entered += steps[i].delays[static_cast<std::size_t>(rank)];
            }
            if (steps[i].root >= 0) continue;
            ++barriers;
            for (int rank = 0; rank < n; ++rank)
                ASSERT_GE(job.exit(rank, i), *std::max_element(last.begin(), last.end())) << "rank " << rank << ", step " << i;
        }
    }
    EXPECT_GT(barriers, kSanitized ? 0 : 100);
}

// One rank makes another call in place of a barrier, or a barrier in place of another call.
TEST(Barrier, DoesNotTakeAnotherCallForAnEntry) {
    Random random(62);
    int refused = 0;
    for (int repetition = 0; repetition < repetitions(2000); ++repetition) {
        const int n = static_cast<int>(random.between(2, 9));
        const auto options = random_machine(random, n, 500);
        const AlgorithmEntry& barrier = *random.pick(algorithms(OperationKind::barrier));
        auto steps = mixed_steps(random, n, barrier, random.between(1, 8));
        for (Step& step : steps) step.plans.clear();
        const auto number = random.below(steps.size());
        const int deviant = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const AlgorithmEntry* entry = &barrier;
        Call other = collectives::make_call(barrier, -1, 0, 0);
        if (steps[number].root < 0) {
            entry = random.pick(moving_algorithms());
            other = collectives::make_call(*entry, static_cast<int>(random.below(static_cast<std::uint64_t>(n))),
                                           random.pick(Times{0, 8, 500}), 0);
        }
        SCOPED_TRACE(
            fmt::format("{}{}\n  rank {} calls {} as step {}", describe(options), describe(steps), deviant, to_string(other), number));
        Simulation simulation(options);
        Job job(simulation, steps);
        job.deviate(deviant, number, other, *entry);
        job.run();
        for (Nanoseconds at = 0; at < 10; ++at)
            for (int rank = 0; rank < n; ++rank) {
                simulation.engine(rank).tick((at + 1) * 1'000'000'000);
                simulation.network().run();
            }
        job.expect_clean();
        for (int rank = 0; rank < n; ++rank) {
            const Error* error = simulation.world(rank).broken.get();
            ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
            const std::string text = error->what();
            EXPECT_EQ(error->code(), ErrorCode::mismatch) << text;
            EXPECT_NE(text.find(" called "), text.rfind(" called ")) << text;
            for (std::size_t i = number; i < steps.size() && job.ended(rank, i); ++i) {
                // Where later calls began without waiting for the end of this one, all ranks may have entered them.
                if (i > number && steps[number + 1].at_once) break;
                const bool is_barrier = i == number && rank == deviant ? other.kind == OperationKind::barrier : steps[i].root < 0;
                if (!is_barrier) continue;
                EXPECT_NE(job.error(rank, i), nullptr) << "rank " << rank << " went through the barrier of step " << i;
                ++refused;
            }
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(refused, kSanitized ? 0 : 1000);
}

// One rank reaches its next barrier after many calls that need no other rank. This shows the others that it has passed the current barrier.
// Its messages would show the same, but they are slow here.
TEST(Barrier, NoticesARankThatIsFarAhead) {
    for (const char* name : {"board_all_to_all", "board_linear"})
        for (const int between : {1, 62, 63, 64, 200}) {
            Simulation::Options options;
            options.ranks = 3;
            options.model.alpha = 1e9;
            Simulation simulation(options);
            const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::barrier, name);
            const AlgorithmEntry& linear = broadcast("linear");
            // Rank 1 first calls broadcasts of which it is the root. The others call the barrier.
            std::deque<Operation> operations;
            const auto begin = [&](int rank, const AlgorithmEntry& which, const Call& call) {
                runtime::CommunicatorState& world = simulation.world(rank);
                operations.emplace_back(world, world.next_sequence++, call, which.algorithm, runtime::Arguments{})
                    .begin(simulation.engine(rank));
            };
            const Call barrier = collectives::make_call(entry, -1, 0, 0);
            for (int i = 0; i < between; ++i) begin(1, linear, collectives::make_call(linear, 1, 0, 0));
            begin(1, entry, barrier);
            begin(0, entry, barrier);
            begin(2, entry, barrier);
            simulation.network().run();
            for (Operation& operation : operations) {
                ASSERT_TRUE(operation.done()) << operation.describe();
                if (operation.call().kind != OperationKind::barrier) continue;
                ASSERT_NE(operation.error(), nullptr) << operation.describe();
            }
            for (int rank = 0; rank < 3; ++rank) {
                const Error* error = simulation.world(rank).broken.get();
                ASSERT_NE(error, nullptr);
                const std::string text = error->what();
                EXPECT_EQ(error->code(), ErrorCode::mismatch) << text;
                EXPECT_NE(text.find("called barrier()"), std::string::npos) << text;
                EXPECT_NE(text.find("rank 1 called"), std::string::npos) << text;
            }
        }
}

// Communicators over random ranks. Each has several barriers under way at once, and the order between communicators is arbitrary.
class Crowd {
  public:
    Crowd(Random& random, int ranks, Simulation& simulation, int barriers)
        : simulation_(simulation), entry_(*random.pick(algorithms(OperationKind::barrier))) {
        std::uint64_t slot = 0;
        for (int number = 0; number < 3; ++number) {
            auto group = std::make_shared<runtime::Group>();
            group->id = 100 + static_cast<std::uint64_t>(number);
            group->name = fmt::format("part {}", number);
            for (int rank = 0; rank < ranks; ++rank) group->world.push_back(rank);
            for (std::size_t i = group->world.size(); i > 1; --i) std::swap(group->world[i - 1], group->world[random.below(i)]);
            group->world.resize(1 + random.below(static_cast<std::uint64_t>(ranks / 3)));
            sort_members(*group);
            group->size = static_cast<int>(group->world.size());
            group->first_slot.assign(group->world.size(), slot);
            slot += group->world.size();
            auto& entered = entered_.emplace_back(static_cast<std::size_t>(barriers), 0);
            for (int member = 0; member < group->size; ++member) {
                const int world = group->world[static_cast<std::size_t>(member)];
                auto& state = *states_.emplace_back(std::make_unique<runtime::CommunicatorState>(group, member));
                simulation_.engine(world).add(state);
                Nanoseconds when = 0;
                for (int i = 0; i < barriers; ++i) {
                    when += random.between(0, random.pick(Times{0, 10, 1000}));
                    entered[static_cast<std::size_t>(i)] = std::max(entered[static_cast<std::size_t>(i)], when);
                    calls_.emplace_back(*this, state, number, i);
                    simulation_.network().schedule(when, &Crowd::begin, &calls_.back(), world);
                }
            }
        }
    }
    ~Crowd() {
        for (const auto& state : states_) simulation_.engine(state->group->world_rank(state->rank)).remove(*state);
    }
    void expect_success() {
        for (const Made& made : calls_) {
            ASSERT_TRUE(made.operation && made.operation->done()) << made.state.group->name << " rank " << made.state.rank;
            ASSERT_EQ(made.operation->error(), nullptr) << made.operation->error()->what();
            ASSERT_GE(made.exit, entered_[static_cast<std::size_t>(made.communicator)][static_cast<std::size_t>(made.barrier)])
                << made.operation->describe() << " rank " << made.state.rank << " " << entry_.name;
        }
    }

  private:
    struct Made {
        Made(Crowd& its_crowd, runtime::CommunicatorState& its_state, int its_communicator, int its_barrier)
            : crowd(its_crowd), state(its_state), communicator(its_communicator), barrier(its_barrier) {}
        Crowd& crowd;
        runtime::CommunicatorState& state;
        int communicator, barrier;
        std::unique_ptr<Operation> operation;
        Nanoseconds exit = -1;
    };
    static void begin(void* context, int rank) {
        auto& made = *static_cast<Made*>(context);
        made.operation =
            std::make_unique<Operation>(made.state, made.state.next_sequence++, collectives::make_call(made.crowd.entry_, -1, 0, 0),
                                        made.crowd.entry_.algorithm, runtime::Arguments{});
        made.operation->on_done = [](Operation&, void* its) {
            auto& ended = *static_cast<Made*>(its);
            ended.exit = ended.crowd.simulation_.network().now();
        };
        made.operation->on_done_context = &made;
        made.operation->begin(made.crowd.simulation_.engine(rank));
    }

    Simulation& simulation_;
    const AlgorithmEntry& entry_;
    std::vector<std::unique_ptr<runtime::CommunicatorState>> states_;
    std::vector<Times> entered_;  ///< When the last rank entered each barrier of each communicator.
    std::deque<Made> calls_;
};

TEST(Barrier, OnSeveralCommunicatorsAtOnce) {
    Random random(63);
    for (int repetition = 0; repetition < repetitions(500); ++repetition) {
        const int n = static_cast<int>(random.between(3, 24));
        const auto options = random_machine(random, n, 500);
        SCOPED_TRACE(describe(options));
        Simulation simulation(options);
        Crowd crowd(random, n, simulation, static_cast<int>(random.between(1, 12)));
        simulation.network().run();
        crowd.expect_success();
        if (HasFailure()) return;
    }
}

// Ranks that still use a communicator which others have destroyed may overwrite a board. That delays a barrier, but does nothing worse.
TEST(Barrier, SignalsThatGotLostAreToldOf) {
    Random random(64);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const int n = static_cast<int>(random.between(2, 9));
        Simulation::Options options;
        options.ranks = n;
        options.model.alpha = 10;
        options.tick_for = kHour;
        Simulation simulation(options);
        const AlgorithmEntry& entry =
            collectives::find_algorithm(OperationKind::barrier, random.pick(std::vector{"board_all_to_all", "board_linear"}));
        Simulation::RankCall call{collectives::make_call(entry, -1, 0, 0), entry.algorithm, {}};
        for (int barrier = 0; barrier < 3; ++barrier) {
            // The boards are wiped when all but the last rank have signalled.
            Times arrivals(static_cast<std::size_t>(n), 0);
            arrivals[random.below(static_cast<std::uint64_t>(n))] = 1000;
            for (int rank = 0; rank < n; ++rank)
                simulation.network().schedule(
                    simulation.network().now() + random.pick(Times{500, 1000, 1001}),
                    [](void* context, int on) {
                        const auto board = static_cast<Simulation*>(context)->engine(on).transport().board();
                        std::memset(board.data() + runtime::kBoardHead, 0, board.size() - runtime::kBoardHead);
                    },
                    &simulation, rank);
            const auto outcome = simulation.run([&](int) { return call; }, arrivals);
            for (int rank = 0; rank < n; ++rank) {
                EXPECT_EQ(outcome.errors[static_cast<std::size_t>(rank)], nullptr);
                EXPECT_GE(outcome.exits[static_cast<std::size_t>(rank)], 1000);
            }
        }
        if (HasFailure()) return;
    }
}

TEST(Barrier, OverTheBoardsSendsNoMessage) {
    for (const char* name : {"board_all_to_all", "board_linear"})
        for (const int n : {1, 2, 3, 8, 33}) {
            Simulation::Options options;
            options.ranks = n;
            options.model.alpha = 1000;
            options.model.notice = 7;
            Simulation simulation(options);
            const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::barrier, name);
            const Simulation::RankCall call{collectives::make_call(entry, -1, 0, 0), entry.algorithm, {}};
            const auto outcome = simulation.run([&](int) { return call; }, Times(static_cast<std::size_t>(n), 0));
            EXPECT_EQ(outcome.messages, 0u);
            const bool linear = entry.name == "board_linear";
            for (int rank = 0; rank < n; ++rank)
                EXPECT_EQ(outcome.exits[static_cast<std::size_t>(rank)], n == 1 ? 0 : linear && rank ? 14 : 7) << name << " " << n;
        }
}

}  // namespace
}  // namespace rollcall::model_test
