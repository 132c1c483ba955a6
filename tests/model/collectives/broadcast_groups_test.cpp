// The sub-group broadcasts of the arrival-aware algorithms: which ranks are in a group, how long its broadcast takes, and that the data
// comes.
#include <algorithm>

#include <fmt/format.h>

#include "collectives/trees/group.hpp"
#include "tests/model/collectives/broadcast_paper.hpp"

namespace rollcall::model_test::broadcast_paper {
namespace {

// --- ranks that arrive together ------------------------------------------------------------------------------------------

// Repeats what the root does, step by step: it serves all unserved ranks that have arrived by then. If there are none, it waits for the
// next arrival (blocking), or sends an eighth of the message to the next unserved rank (nonblocking), which gets the rest when it has
// arrived alone.
std::vector<double> served_in_rounds(const Times& a, int root, bench::Model model) {
    const int n = static_cast<int>(a.size());
    std::vector<int> unserved;
    for (int i = 1; i < n; ++i) unserved.push_back((root + i) % n);
    const auto at = [&](int rank) { return a[static_cast<std::size_t>(rank)]; };
    Times f(a.size(), 0);
    Nanoseconds t = at(root);
    int eighths = 0;  // of the message, at the first unserved rank
    while (!unserved.empty()) {
        std::vector<int> group, others;
        for (const int rank : unserved) (at(rank) <= t ? group : others).push_back(rank);
        const int next = unserved.front();
        if (!group.empty() && !(eighths > 0 && group == std::vector<int>{next})) {
            t += T;
            for (const int rank : group) f[static_cast<std::size_t>(rank)] = t;
            if (group.front() == next) eighths = 0;
            unserved = others;
        } else if (model == bench::Model::blocking) {
            for (t = at(next); const int rank : others) t = std::min(t, at(rank));
        } else {
            t += T / 8;
            if (++eighths < 8) continue;
            f[static_cast<std::size_t>(next)] = std::max(at(next), t);
            unserved.erase(unserved.begin());
            eighths = 0;
        }
    }
    f[static_cast<std::size_t>(root)] = t;
    std::vector<double> exits;
    for (const Nanoseconds exit : f) exits.push_back(static_cast<double>(exit) / T);
    return exits;
}

TEST(BroadcastGroups, RanksThatArriveTogetherAreOneGroup) {
    Random random(18);
    for (int repetition = 0; repetition < repetitions(600) && !HasFailure(); ++repetition) {
        const int n = static_cast<int>(random.between(2, 24)), root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        // All at once, few moments, or many.
        const auto moments = random.pick(std::vector<std::uint64_t>{1, 3, 40});
        Times a;
        for (int rank = 0; rank < n; ++rank) a.push_back(static_cast<Nanoseconds>(random.below(moments)) * (T / 2));
        for (const auto model : kModels)
            for (const bool board : {true, false}) {
                Setting setting = chains_to(a.size(), model, root);
                setting.board = board;
                SCOPED_TRACE(testing::PrintToString(a) + " root " + std::to_string(root) + (board ? " " : " without a board, ") +
                             std::string(bench::name(model)));
                const bool blocking = model == bench::Model::blocking;
                expect_near(run(broadcast(blocking ? "arrival_blocking" : "arrival_nonblocking"), a, setting).exits,
                            served_in_rounds(a, root, model));
            }
    }
}

// Balanced ranks are one group: the best pattern, not the worst one.
TEST(BroadcastGroups, ABalancedPatternTakesOneMessageTime) {
    for (const std::size_t n : {2, 3, 8, 64}) {
        expect_near(run(broadcast("arrival_blocking"), Times(n, 0), chains_to(n, bench::Model::blocking, 0)).exits,
                    std::vector<double>(n, 1));
        expect_near(run(broadcast("arrival_nonblocking"), Times(n, 0), chains_to(n, bench::Model::nonblocking, 0)).exits,
                    std::vector<double>(n, 1));
    }
}

// --- the form and the pieces that the root chooses ----------------------------------------------------------------------

// The time is that of the formula for the latency of this network, and of the headers, which leave the root one after the other before the
// data.
TEST(BroadcastGroups, TakeTheTimeThatTheFormulaSays) {
    for (const double latency : {2'000.0, 8'192.0, 100'000.0})
        for (const int n : {2, 3, 5, 8, 16, 33, 64})
            for (const std::uint64_t bytes : {8u << 10, 64u << 10, 256u << 10, 1u << 20, 8u << 20}) {
                Simulation::Options options;
                options.ranks = n;
                options.model.alpha = latency;
                options.model.beta = 1;
                options.node_memory = false;
                Simulation simulation(options);
                Simulation::RankCall call;
                call.call = {.bytes = bytes, .root = 0, .kind = runtime::OperationKind::broadcast};
                call.algorithm = broadcast("arrival_blocking").algorithm;
                call.arguments.data = {nullptr, bytes};
                const auto outcome = simulation.run([&](int) { return call; }, Times(static_cast<std::size_t>(n), 0));
                const double took = static_cast<double>(*std::max_element(outcome.exits.begin(), outcome.exits.end()));
                const auto way = collectives::fastest_group_way(n, bytes, latency);
                const double headers = (n - 1) * (latency + 128);
                SCOPED_TRACE(fmt::format("{} ranks, {} bytes, form {}, latency {}", n, bytes, static_cast<int>(way.form), latency));
                EXPECT_GE(took, way.cost);
                EXPECT_LE(took, 1.02 * way.cost + headers);
            }
}

// Ranks of one node: each gets a header and the message, in one piece. A ring would take more messages.
TEST(BroadcastGroups, TakeFewMessagesOnOneNode) {
    for (const bool on_one_node : {true, false}) {
        Simulation::Options options;
        options.ranks = 8;
        options.model.alpha = 8192;
        options.model.beta = 1;
        options.node_memory = on_one_node;
        Simulation simulation(options);
        Simulation::RankCall call;
        call.call = {.bytes = 65'536, .root = 0, .kind = runtime::OperationKind::broadcast};
        call.algorithm = broadcast("arrival_blocking").algorithm;
        call.arguments.data = {nullptr, 65'536};
        const auto outcome = simulation.run([&](int) { return call; }, Times(8, 0));
        EXPECT_EQ(outcome.messages, on_one_node ? 7u + 7u : 7u + 7u + 7u * 6u);
    }
}

TEST(BroadcastGroups, LongMessagesComeWhole) {
    struct Case {
        int n;
        std::uint64_t bytes;
        collectives::GroupForm form;  ///< Where all ranks but the root are one group.
    };
    using enum collectives::GroupForm;
    constexpr Case kCases[] = {{3, 40'001, chain},    {4, 65'536, scatter_ring}, {7, 100'003, scatter_ring}, {16, 65'539, scatter_ring},
                               {8, 20'000, binomial}, {4, 520'001, chain},       {33, 66'000, binary}};
    Random random(19);
    for (const Case& test : kCases) {
        constexpr double kLatency = 8192;
        EXPECT_EQ(collectives::fastest_group_way(test.n, test.bytes, kLatency).form, test.form);
        for (const Nanoseconds scale : {0, 100'000, 3'000'000}) {
            auto options = random_machine(random, test.n, test.bytes);
            options.node_memory = false;
            options.model.alpha = kLatency;
            options.model.beta = 1;
            Simulation simulation(options);
            std::vector<Step> steps;
            for (const auto* name : {"arrival_blocking", "arrival_nonblocking"}) {
                Step step;
                step.entry = &broadcast(name);
                step.root = static_cast<int>(random.below(static_cast<std::uint64_t>(test.n)));
                step.bytes = test.bytes;
                step.delays = random_delays(random, test.n, step.root, scale);
                steps.push_back(step);
            }
            SCOPED_TRACE(describe(options) + describe(steps));
            Job job(simulation, std::move(steps));
            job.run();
            job.expect_success();
            job.expect_clean();
        }
    }
}

}  // namespace
}  // namespace rollcall::model_test::broadcast_paper
