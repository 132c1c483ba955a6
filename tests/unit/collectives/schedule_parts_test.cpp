// What is made of schedules, and schedules that are not Clairvoyant's: steps of a process, the online reduction, the straggler's allreduce.
#include <gtest/gtest.h>

#include <bit>
#include <bitset>
#include <deque>
#include <map>
#include <queue>

#include <rollcall/error.hpp>

#include "collectives/schedules/online.hpp"
#include "collectives/schedules/steps.hpp"
#include "collectives/schedules/straggler.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/collectives/schedules.hpp"
#include "tests/unit/random.hpp"

namespace rollcall::collectives {
namespace {

TEST(ScheduleSteps, OfTheExample) {
    const Schedule schedule = clairvoyant({.arrivals = {0, 0, 0, 11}, .segments = 4, .root = 0, .round_time = 10});
    EXPECT_EQ(steps_of(schedule, 1), (std::vector<Step>{{0, 0, 0, Step::send},
                                                        {0, 0, 1, Step::combine},
                                                        {1, 3, 2, Step::send},
                                                        {1, 3, 1, Step::combine},
                                                        {2, 3, 3, Step::send},
                                                        {2, 2, 1, Step::combine},
                                                        {3, 0, 1, Step::send}}));
    // Segment 1, which the root has lent, comes back.
    const std::vector<Step> root = steps_of(schedule, 0);
    EXPECT_EQ(root[0], (Step{0, 1, 1, Step::send}));
    EXPECT_EQ(root[1], (Step{0, 1, 0, Step::combine}));
    EXPECT_EQ(std::count_if(root.begin(), root.end(), [](const Step& step) { return step.kind == Step::replace; }), 3);
}

// Each process goes through its own steps, without rounds, as slowly as it likes; messages of two processes keep their order.
TEST(ScheduleSteps, CarriedOutInAnyPaceTheyReduce) {
    std::mt19937_64 random = seeded_random();
    for (int instance = 0; instance < test::repetitions(2000); ++instance) {
        const ReductionPlan reduction = random_reduction(random);
        const Schedule schedule = clairvoyant(reduction);
        const std::size_t P = reduction.arrivals.size();
        const auto N = static_cast<std::size_t>(reduction.segments);
        std::vector<std::vector<std::uint64_t>> values(P, std::vector<std::uint64_t>(N));
        std::vector<std::uint64_t> sums(N, 0);
        for (auto& of : values)
            for (std::size_t s = 0; s < N; ++s) sums[s] += of[s] = random();
        std::vector<std::vector<Step>> steps;
        for (std::size_t p = 0; p < P; ++p) steps.push_back(steps_of(schedule, static_cast<int>(p)));
        std::vector<std::size_t> at(P, 0);
        std::map<std::pair<std::size_t, std::size_t>, std::deque<std::pair<std::uint32_t, std::uint64_t>>> under_way;
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t turn = 0; turn < P; ++turn) {
                const std::size_t p = random() % P;
                if (at[p] == steps[p].size()) continue;
                const Step& step = steps[p][at[p]];
                const auto peer = static_cast<std::size_t>(step.peer);
                if (step.kind == Step::send) {
                    under_way[{p, peer}].push_back({step.segment, values[p][step.segment]});
                } else {
                    auto& messages = under_way[{peer, p}];
                    if (messages.empty()) continue;
                    ASSERT_EQ(messages.front().first, step.segment) << describe(reduction);
                    std::uint64_t& own = values[p][step.segment];
                    own = messages.front().second + (step.kind == Step::combine ? own : 0);
                    messages.pop_front();
                }
                ++at[p];
            }
            for (std::size_t p = 0; p < P; ++p) {
                if (at[p] == steps[p].size()) continue;
                const Step& step = steps[p][at[p]];
                moved |= step.kind == Step::send || !under_way[{static_cast<std::size_t>(step.peer), p}].empty();
            }
        }
        for (std::size_t p = 0; p < P; ++p)
            ASSERT_EQ(at[p], steps[p].size()) << "process " << p << " waits forever; " << describe(reduction);
        ASSERT_EQ(values[static_cast<std::size_t>(reduction.root)], sums) << describe(reduction);
    }
}

TEST(OnlineReduction, TheExampleInItsFile) {
    using Transfers = std::vector<OnlineReduction::Transfer>;
    OnlineReduction reduction(3, 2, 0);
    const auto expect = [&](const Transfers& expected) {
        const Transfers begun = reduction.begin();
        EXPECT_EQ(begun, expected);
        for (const auto& transfer : begun) reduction.ended(transfer);
    };
    reduction.arrived(1);
    expect({});
    reduction.arrived(2);
    expect({{2, 1, 0, false}, {1, 2, 1, false}});
    reduction.arrived(0);
    expect({{1, 0, 0, false}, {0, 2, 1, false}});
    EXPECT_FALSE(reduction.done());
    expect({{2, 0, 1, true}});
    EXPECT_TRUE(reduction.done());
    expect({});
}

// Random arrivals, and each transfer takes a time of its own.
TEST(OnlineReduction, ReducesWhateverTheTimes) {
    std::mt19937_64 random = seeded_random();
    using Contributions = std::bitset<32>;
    for (int instance = 0; instance < test::repetitions(2000); ++instance) {
        const ReductionPlan given = random_reduction(random);
        SCOPED_TRACE(describe(given));
        const auto P = given.arrivals.size();
        const auto N = static_cast<std::size_t>(given.segments);
        OnlineReduction reduction(static_cast<int>(P), given.segments, given.root);
        struct Event {
            Nanoseconds at;
            std::uint64_t tie;
            int process;  // That arrives; -1: the transfer ends.
            OnlineReduction::Transfer transfer;
            Contributions payload;
            bool operator<(const Event& other) const { return std::tie(at, tie) > std::tie(other.at, other.tie); }
        };
        std::priority_queue<Event> events;
        for (std::size_t p = 0; p < P; ++p) events.push({given.arrivals[p], random(), static_cast<int>(p), {}, {}});
        std::vector<Contributions> has(P * N);
        for (std::size_t p = 0; p < P; ++p)
            for (std::size_t s = 0; s < N; ++s) has[p * N + s].set(p);
        std::vector<bool> there(P, false), sends(P, false), receives(P, false);
        const auto cell = [&](int p, int s) -> Contributions& {
            return has[static_cast<std::size_t>(p) * N + static_cast<std::size_t>(s)];
        };
        std::size_t transfers = 0;
        while (!events.empty()) {
            const Event event = events.top();
            events.pop();
            ASSERT_FALSE(reduction.done());
            if (event.process >= 0) {
                there[static_cast<std::size_t>(event.process)] = true;
                reduction.arrived(event.process);
            } else {
                const auto& [sender, receiver, segment, replace] = event.transfer;
                Contributions& own = cell(receiver, segment);
                ASSERT_EQ(replace, own.none());
                ASSERT_TRUE((own & event.payload).none());
                own |= event.payload;
                sends[static_cast<std::size_t>(sender)] = receives[static_cast<std::size_t>(receiver)] = false;
                reduction.ended(event.transfer);
            }
            for (const auto& transfer : reduction.begin()) {
                ++transfers;
                const auto from = static_cast<std::size_t>(transfer.sender), to = static_cast<std::size_t>(transfer.receiver);
                ASSERT_TRUE(there[from] && there[to] && from != to && !sends[from] && !receives[to]);
                sends[from] = receives[to] = true;
                Contributions& payload = cell(transfer.sender, transfer.segment);
                ASSERT_TRUE(payload.any());
                events.push({event.at + 1 + static_cast<Nanoseconds>(random() % 100), random(), -1, transfer, payload});
                payload.reset();
            }
        }
        ASSERT_TRUE(reduction.done());
        ASSERT_GE(transfers, (P - 1) * N);
        for (std::size_t p = 0; p < P; ++p)
            for (std::size_t s = 0; s < N; ++s) ASSERT_EQ(has[p * N + s].count(), p == static_cast<std::size_t>(given.root) ? P : 0);
    }
}

// Where foresight tells nothing: all come at the beginning of a round, in the order of their ranks.
TEST(OnlineReduction, IsClairvoyantWhereThatIsNoHelp) {
    std::mt19937_64 random = seeded_random();
    for (int instance = 0; instance < test::repetitions(500); ++instance) {
        ReductionPlan given = random_reduction(random);
        const std::size_t P = given.arrivals.size();
        for (Nanoseconds& arrival : given.arrivals) arrival = given.round_time * static_cast<Nanoseconds>(random() % (2 * P));
        given.arrivals[0] = 0;
        std::sort(given.arrivals.begin(), given.arrivals.end());
        const Schedule schedule = clairvoyant(given);
        std::vector<Transfer> online;
        OnlineReduction reduction(static_cast<int>(P), given.segments, given.root);
        for (std::int64_t round = 0; !reduction.done(); ++round) {
            ASSERT_LE(round, schedule.rounds) << describe(given);
            for (std::size_t p = 0; p < P; ++p)
                if (given.arrivals[p] == round * given.round_time) reduction.arrived(static_cast<int>(p));
            const auto begun = reduction.begin();
            for (const auto& transfer : begun) {
                online.push_back({round, transfer.sender, transfer.receiver, transfer.segment});
                reduction.ended(transfer);
            }
        }
        ASSERT_EQ(online, schedule.transfers) << describe(given);
    }
}

TEST(OnlineReduction, WrongCallsAreRefused) {
    EXPECT_THROW(OnlineReduction(0, 1, 0), Error);
    EXPECT_THROW(OnlineReduction(2, 0, 0), Error);
    EXPECT_THROW(OnlineReduction(2, 1, 2), Error);
    OnlineReduction reduction(3, 1, 0);
    EXPECT_THROW(reduction.arrived(3), Error);
    reduction.arrived(2);
    EXPECT_THROW(reduction.arrived(2), Error);
    reduction.arrived(1);
    const auto begun = reduction.begin();
    ASSERT_EQ(begun.size(), 1u);
    EXPECT_THROW(reduction.ended({2, 1, 0, false}), Error);
    EXPECT_THROW(reduction.ended({5, 2, 0, false}), Error);
    reduction.ended(begun[0]);
    EXPECT_THROW(reduction.ended(begun[0]), Error);
    OnlineReduction alone(1, 5, 0);
    EXPECT_FALSE(alone.done());
    alone.arrived(0);
    EXPECT_TRUE(alone.done());
}

// Carries a part out; messages of a round go out together.
void carry_out(const std::vector<ChunkMessage>& messages, int P, int chunks, std::vector<std::bitset<300>>& has) {
    const auto cell = [&](int p, int chunk) -> std::bitset<300>& {
        return has[static_cast<std::size_t>(p) * static_cast<std::size_t>(chunks) + static_cast<std::size_t>(chunk)];
    };
    for (auto begin = messages.begin(); begin != messages.end();) {
        const auto end = std::find_if(begin, messages.end(), [&](const ChunkMessage& m) { return m.round != begin->round; });
        std::vector<int> sends(static_cast<std::size_t>(P), 0), receives(static_cast<std::size_t>(P), 0);
        std::vector<std::bitset<300>> payloads;
        for (auto m = begin; m != end; ++m) {
            ASSERT_NE(m->sender, m->receiver);
            ASSERT_EQ(++sends[static_cast<std::size_t>(m->sender)], 1);
            ASSERT_EQ(++receives[static_cast<std::size_t>(m->receiver)], 1);
            payloads.push_back(cell(m->sender, m->chunk));
        }
        for (auto m = begin; m != end; ++m) {
            const auto& payload = payloads[static_cast<std::size_t>(m - begin)];
            auto& own = cell(m->receiver, m->chunk);
            if (m->combine) {
                ASSERT_TRUE((own & payload).none());
                own |= payload;
            } else {
                ASSERT_TRUE(payload.count() == static_cast<std::size_t>(P) && !own.all()) << "a chunk that is not complete, or known";
                own = payload;
            }
        }
        begin = end;
    }
}

void expect_allreduce(int P, int straggler) {
    SCOPED_TRACE(P);
    const StragglerSchedule schedule = straggler_allreduce(P, straggler);
    ASSERT_EQ(schedule.chunks, P - 1);
    std::vector<std::bitset<300>> has(static_cast<std::size_t>(P) * static_cast<std::size_t>(P - 1));
    for (std::size_t cell = 0; cell < has.size(); ++cell) has[cell].set(cell / static_cast<std::size_t>(P - 1));
    for (const ChunkMessage& message : schedule.early) {
        ASSERT_NE(message.sender, straggler);
        ASSERT_NE(message.receiver, straggler);
        ASSERT_LT(message.round, schedule.early_rounds);
    }
    carry_out(schedule.early, P, P - 1, has);
    carry_out(schedule.late, P, P - 1, has);
    for (const auto& contributions : has) ASSERT_EQ(contributions.count(), static_cast<std::size_t>(P));
    ASSERT_EQ(schedule.early_rounds, P - 2);
    const int logarithm = std::bit_width(static_cast<unsigned>(P - 1));
    const int late_rounds = schedule.late.back().round + 1;
    ASSERT_GE(late_rounds, P - 2 + logarithm);
    ASSERT_LE(late_rounds, P - 2 + logarithm + (std::has_single_bit(static_cast<unsigned>(P)) ? 0 : 1));
}

TEST(StragglerAllreduce, ReducesToAllInFewRounds) {
    for (int P = 2; P <= 70; ++P) expect_allreduce(P, P / 2);
    expect_allreduce(128, 127);
    expect_allreduce(256, 0);
}

TEST(StragglerAllreduce, TheExampleInItsFile) {
    const StragglerSchedule schedule = straggler_allreduce(4, 3);
    EXPECT_EQ(schedule.early,
              (std::vector<ChunkMessage>{
                  {0, 0, 1, 1, true}, {0, 1, 2, 2, true}, {0, 2, 0, 0, true}, {1, 0, 2, 2, true}, {1, 1, 0, 0, true}, {1, 2, 1, 1, true}}));
    EXPECT_EQ(schedule.late, (std::vector<ChunkMessage>{{0, 0, 3, 0, true},
                                                        {0, 3, 0, 0, true},
                                                        {1, 1, 3, 1, true},
                                                        {1, 3, 1, 1, true},
                                                        {1, 0, 2, 0, false},
                                                        {2, 2, 3, 2, true},
                                                        {2, 3, 2, 2, true},
                                                        {2, 1, 0, 1, false},
                                                        {2, 0, 1, 0, false},
                                                        {3, 2, 0, 2, false},
                                                        {3, 3, 1, 2, false},
                                                        {3, 0, 2, 1, false}}));
    EXPECT_THROW(straggler_allreduce(1, 0), Error);
    EXPECT_THROW(straggler_allreduce(4, 4), Error);
}

}  // namespace
}  // namespace rollcall::collectives
