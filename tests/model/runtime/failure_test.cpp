// Failures end: mismatched calls, deaths and deadlines, in the middle of every algorithm. No rank hangs, all ranks are told, and nothing is
// left over.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Call;
using runtime::OperationKind;
using runtime::Simulation;

std::vector<Step> random_steps(Random& random, int n) {
    std::vector<Step> steps;
    for (std::int64_t calls = random.between(1, 4); calls > 0; --calls) {
        Step step;
        step.entry = random.pick(moving_algorithms());
        step.root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        step.bytes = random.pick(std::vector<std::uint64_t>{0, 8, 64, 65, 500, 3000});
        step.segment = step.entry->segmented ? random.pick(std::vector<std::uint64_t>{0, 100}) : 0;
        step.delays = random_delays(random, n, step.root, random.pick(std::vector<Nanoseconds>{0, 500, 5000}));
        step.at_once = random.chance(0.3);
        plan_at_random(random, step);
        steps.push_back(std::move(step));
    }
    return steps;
}

// --- mismatched calls ------------------------------------------------------------------------------------------------

// Every rank makes one call. The call of one rank differs from the others'.
TEST(Mismatch, EverybodyIsToldBothCalls) {
    Random random(41);
    for (int repetition = 0; repetition < repetitions(1500); ++repetition) {
        const int n = static_cast<int>(random.between(2, random.chance(0.2) ? 40 : 7));
        auto options = random_machine(random, n, 500);
        options.tick_for = kHour;
        options.algorithm_name = &collectives::algorithm_name;
        Step step = random_steps(random, n).front();
        Call other = call_of(step);
        const collectives::AlgorithmEntry* entry = step.entry;
        switch (random.below(5)) {
            case 0:
                entry = random.pick(algorithms(OperationKind::barrier));
                other = collectives::make_call(*entry, -1, 0, 0);
                break;
            case 1: other.root = (other.root + 1) % n; break;
            case 2: other.bytes += 1 + random.below(100); break;
            case 3: other.segment_bytes += 1; break;
            default: {
                auto others = algorithms(step.entry->operation);
                std::erase(others, step.entry);
                if (!others.empty()) entry = random.pick(others);
                other = collectives::make_call(*entry, step.root, others.empty() ? step.bytes + 1 : step.bytes, step.segment);
                break;
            }
        }
        const int deviant = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        SCOPED_TRACE(
            fmt::format("{}\n  {}\n  rank {}: {} ({})", describe(options), describe(step), deviant, to_string(other), entry->name));
        // If two calls differ in nothing else, the error says how each is carried out.
        const bool same_request = other.same_request(call_of(step));
        const auto in_words = [&](const Call& call) {
            return same_request ? to_string(call, &collectives::algorithm_name) : to_string(call);
        };
        Simulation simulation(options);
        Simulation::RankCall usual{call_of(step), step.entry->algorithm, {}};
        usual.arguments.oracle = step.delays.data();
        usual.arguments.segment_bytes = step.segment;
        std::vector<std::vector<std::byte>> memory(static_cast<std::size_t>(n));
        const auto outcome = simulation.run(
            [&](int rank) {
                Simulation::RankCall call = usual;
                if (rank == deviant) {
                    call.call = other;
                    call.algorithm = entry->algorithm;
                }
                // The buffers of a rank stand one after the other in its memory. Each holds n blocks at most.
                auto& mine = memory[static_cast<std::size_t>(rank)];
                const std::size_t most = static_cast<std::size_t>(n) * call.call.bytes;
                mine.resize(3 * most);
                const collectives::Buffers buffers = {
                    .contribution = mine.data(), .data = mine.data() + most, .result = mine.data() + 2 * most};
                const auto& used = rank == deviant ? *entry : *step.entry;
                const auto segment = call.call.segment_bytes;
                const auto oracle = call.arguments.oracle;
                call.arguments =
                    collectives::arguments_of(collectives::operation(used.operation), buffers, call.call.bytes, n, rank == call.call.root);
                call.arguments.segment_bytes = segment;
                call.arguments.oracle = oracle;
                const auto& plan = step.plans.empty() ? Step::Plan() : step.plans[static_cast<std::size_t>(rank)];
                if (!step.plans.empty()) call.algorithm = collectives::planned(used);
                if (plan.lead >= 0 && rank != deviant) call.begin = step.delays[static_cast<std::size_t>(rank)] - plan.lead;
                return call;
            },
            step.delays);
        tell_all(simulation);
        for (int rank = 0; rank < n; ++rank) {
            // A rank whose part was done before (for example a root whose short messages have left) learns of the failure at its next call.
            const Error* error = simulation.world(rank).broken.get();
            ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
            const std::string text = error->what();
            EXPECT_EQ(error->code(), ErrorCode::mismatch) << text;
            EXPECT_EQ(error->failed_rank(), -1) << "nobody knows who is wrong";
            EXPECT_NE(text.find("called " + in_words(usual.call)), std::string::npos) << text;
            EXPECT_NE(text.find(fmt::format("rank {} called {}", deviant, in_words(other))), std::string::npos) << text;
            if (const Error* told = outcome.errors[static_cast<std::size_t>(rank)].get()) {
                EXPECT_EQ(told->what(), text);
            }
            if (n == 2) {
                EXPECT_EQ(simulation.world(0).broken->what(), text);
            }
            EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
        }
        if (HasFailure()) return;
    }
}

// The mismatch occurs somewhere in a sequence of calls. Later calls have begun before it fails.
TEST(Mismatch, InARowOfCalls) {
    Random random(42);
    for (int repetition = 0; repetition < repetitions(500); ++repetition) {
        const int n = static_cast<int>(random.between(2, 9));
        auto options = random_machine(random, n, 500);
        auto steps = random_steps(random, n);
        SCOPED_TRACE(describe(options) + describe(steps));
        Simulation simulation(options);
        Job job(simulation, steps);
        const auto number = random.below(steps.size());
        Call other = call_of(steps[number]);
        other.bytes += 1;
        job.deviate(static_cast<int>(random.below(static_cast<std::uint64_t>(n))), number, other, *steps[number].entry);
        job.run();
        // Without questions a rank may wait for one that went another way. So the test asks, as a lane does.
        for (Nanoseconds at = 0; at < 10; ++at)
            for (int rank = 0; rank < n; ++rank) {
                simulation.engine(rank).tick((at + 1) * 1'000'000'000);
                simulation.network().run();
            }
        bool told = false;
        for (int rank = 0; rank < n; ++rank)
            for (std::size_t i = 0; i < steps.size(); ++i)
                if (const Error* error = job.error(rank, i)) {
                    EXPECT_EQ(error->code(), ErrorCode::mismatch) << error->what();
                    EXPECT_GE(i + 4, number);
                    told = true;
                }
        job.expect_clean();
        EXPECT_TRUE(told || simulation.world(0).broken);
        if (HasFailure()) return;
    }
}

// --- deaths ----------------------------------------------------------------------------------------------------------

struct Death {
    Simulation* simulation;
    Job* job;
    Random* random;
    int rank;
};

TEST(Death, InTheMiddleOfEveryAlgorithm) {
    Random random(43);
    int failed = 0;
    for (int repetition = 0; repetition < repetitions(4000); ++repetition) {
        const int n = static_cast<int>(random.between(2, random.chance(0.2) ? 40 : 8));
        const auto options = random_machine(random, n, 500);
        auto steps = random_steps(random, n);
        SCOPED_TRACE(describe(options) + describe(steps));
        Simulation simulation(options);
        Job job(simulation, steps);
        Death death{&simulation, &job, &random, static_cast<int>(random.below(static_cast<std::uint64_t>(n)))};
        simulation.network().schedule(
            random.between(0, random.pick(std::vector<std::int64_t>{10, 1000, 20'000})),
            [](void* context, int rank) {
                const auto& [its_simulation, its_job, its_random, its_rank] = *static_cast<Death*>(context);
                its_job->stop(rank);
                its_simulation->kill(rank, "was killed by signal 9", [&](int) { return its_random->between(0, 3000); });
            },
            &death, death.rank);
        job.run();
        job.expect_clean(death.rank);
        for (int rank = 0; rank < n; ++rank) {
            if (rank == death.rank) continue;
            ASSERT_NE(simulation.world(rank).broken, nullptr);
            for (std::size_t i = 0; i < steps.size(); ++i) {
                ASSERT_TRUE(job.ended(rank, i)) << "rank " << rank << " hangs in step " << i;
                const Error* error = job.error(rank, i);
                if (!error) continue;
                ++failed;
                EXPECT_EQ(error->code(), ErrorCode::peer_failed) << error->what();
                EXPECT_EQ(error->failed_rank(), death.rank) << error->what();
                EXPECT_NE(std::string(error->what()).find(fmt::format("rank {} ", death.rank)), std::string::npos) << error->what();
            }
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(failed, kSanitized ? 0 : 1000);
}

TEST(Death, PointToPointWithTheDeadFailsAndWithOthersDoesNot) {
    for (const std::uint64_t bytes : {8, 1000})
        for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
            Simulation::Options options;
            options.ranks = 3;
            options.landing_bytes = landing;
            Simulation simulation(options);
            Messages messages(simulation);
            const auto& waiting = messages.receive(0, 2, 1, bytes, 0);
            const auto& sending = messages.send(0, 2, 2, 100'000, 0, 0);
            const auto& other = messages.receive(0, 1, 1, bytes, 0);
            messages.send(1, 0, 1, bytes, 5, 50'000);
            const auto& later = messages.send(0, 2, 3, bytes, 0, 60'000);
            simulation.network().schedule(
                1000,
                [](void* context, int rank) {
                    static_cast<Simulation*>(context)->kill(rank, "exited with code 3", [](int) { return 10; });
                },
                &simulation, 2);
            simulation.network().run();
            for (const auto* transfer : {&waiting, &sending, &later}) {
                ASSERT_TRUE(transfer->done());
                ASSERT_NE(transfer->error(), nullptr);
                EXPECT_EQ(transfer->error()->failed_rank(), 2);
                EXPECT_STREQ(transfer->error()->what(), "rank 2 exited with code 3");
            }
            EXPECT_TRUE(Messages::holds(other, bytes, 5));
        }
}

// --- an algorithm that fails ----------------------------------------------------------------------------------------

// A task within a task fails at rank 1 while it sends. It does not fail by an exception from its own frame, because that would end the
// frame.
runtime::Task inner(runtime::Operation& op) {
    static const std::vector<std::byte> out(5000, std::byte{7});
    const auto sent = op.send((op.rank() + 1) % op.size(), {out.data(), out.size()}, 0);
    if (op.rank() == 1) throw std::runtime_error("out of ideas");
    std::vector<std::byte> in(5000);
    co_await op.receive((op.rank() + op.size() - 1) % op.size(), {in.data(), in.size()}, 0);
    co_await op.receive((op.rank() + op.size() - 1) % op.size(), {in.data(), in.size()}, 1);
}
runtime::Task outer(runtime::Operation& op) { co_await inner(op); }
// It fails before there is a frame.
runtime::Task before_any_frame(runtime::Operation& op) {
    if (op.rank() == 1) throw std::runtime_error("out of ideas");
    return inner(op);
}

class FailingAlgorithm : public testing::TestWithParam<runtime::Algorithm> {};
INSTANTIATE_TEST_SUITE_P(Is, FailingAlgorithm, testing::Values(&outer, &before_any_frame));

TEST_P(FailingAlgorithm, ToldToAll) {
    for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 40})
        for (const int n : {2, 3, 9}) {
            Simulation::Options options;
            options.ranks = n;
            options.landing_bytes = landing;
            Simulation simulation(options);
            Simulation::RankCall call;
            call.call.kind = OperationKind::barrier;
            call.algorithm = GetParam();
            std::vector<Nanoseconds> arrivals(static_cast<std::size_t>(n));
            for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = static_cast<Nanoseconds>(i) * 1700;
            const auto outcome = simulation.run([&](int) { return call; }, arrivals);
            for (int rank = 0; rank < n; ++rank) {
                const Error* error = outcome.errors[static_cast<std::size_t>(rank)].get();
                ASSERT_NE(error, nullptr) << rank;
                EXPECT_EQ(error->code(), ErrorCode::state);
                EXPECT_NE(std::string(error->what()).find("out of ideas"), std::string::npos) << error->what();
                EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
                EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
            }
        }
}

// --- deadlines -------------------------------------------------------------------------------------------------------

struct GivingUp {
    Simulation* simulation;
    Job* job;
    bool happened = false;
};

TEST(Deadline, AbandonedInTheMiddle) {
    Random random(44);
    int abandoned = 0;
    for (int repetition = 0; repetition < repetitions(3000); ++repetition) {
        const int n = static_cast<int>(random.between(2, random.chance(0.2) ? 40 : 8));
        const auto options = random_machine(random, n, 500);
        auto steps = random_steps(random, n);
        SCOPED_TRACE(describe(options) + describe(steps));
        Simulation simulation(options);
        Job job(simulation, steps);
        GivingUp giving_up{&simulation, &job};
        simulation.network().schedule(
            random.between(0, random.pick(std::vector<std::int64_t>{10, 1000, 20'000})),
            [](void* context, int rank) {
                auto& [its_simulation, its_job, happened] = *static_cast<GivingUp*>(context);
                const auto operations = its_job->unfinished(rank);
                if (operations.empty()) return;
                happened = true;
                operations.front()->abandon(its_simulation->engine(rank), Error(ErrorCode::timeout, "not within its deadline", rank));
            },
            &giving_up, static_cast<int>(random.below(static_cast<std::uint64_t>(n))));
        job.run();
        tell_all(simulation);
        job.expect_clean();
        abandoned += giving_up.happened;
        for (int rank = 0; rank < n; ++rank)
            for (std::size_t i = 0; i < steps.size(); ++i) {
                ASSERT_TRUE(job.ended(rank, i)) << "rank " << rank << " hangs in step " << i;
                if (const Error* error = job.error(rank, i)) {
                    EXPECT_TRUE(giving_up.happened);
                    EXPECT_EQ(error->code(), ErrorCode::timeout) << error->what();
                }
            }
        if (!giving_up.happened) job.expect_success();
        if (HasFailure()) return;
    }
    EXPECT_GT(abandoned, kSanitized ? 0 : 300);
}

// A peer may leave at the end of the job. The messages that it still owed fail, and the engine does not ask for the reason.
TEST(Departures, WhatIsStillMovingFails) {
    Simulation::Options options;
    options.landing_bytes = 0;
    options.model.alpha = 100;
    Simulation simulation(options);
    Messages messages(simulation);
    const auto& received = messages.receive(1, 0, 0, 900, 0);
    messages.send(0, 1, 0, 900, 1, 0);
    simulation.network().schedule(
        30,
        [](void* context, int rank) {
            auto& engine = static_cast<Simulation*>(context)->engine(rank);
            engine.expect_departures();
            engine.transport().disconnect(0);
        },
        &simulation, 1);
    simulation.network().run();
    ASSERT_TRUE(received.done());
    ASSERT_NE(received.error(), nullptr);
    EXPECT_EQ(received.error()->code(), ErrorCode::peer_failed);
    EXPECT_STREQ(received.error()->what(), "the connection to rank 0 was lost");
}

// Messages that were not received by then are dropped. Neither their sender nor the end of its connection waits for them.
TEST(Departures, WhatNobodyReceivedIsLetGo) {
    for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
        Simulation::Options options;
        options.landing_bytes = landing;
        Simulation simulation(options);
        Messages messages(simulation);
        const auto& early = messages.send(0, 1, 0, 900, 1, 0);
        simulation.network().run();
        EXPECT_EQ(early.done(), landing > 0);
        simulation.engine(1).expect_departures();
        const auto& late = messages.send(0, 1, 1, 900, 2, 0);  // Offered to a rank that has ended.
        simulation.network().run();
        EXPECT_TRUE(early.done() && late.done());
        EXPECT_EQ(simulation.engine(1).early_messages(), 0u);
        EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
    }
}

}  // namespace
}  // namespace rollcall::model_test
