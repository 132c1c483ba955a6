// Schedules of allreduces for known arrivals: Clairvoyant, the sorted linear tree, the pre-reduced ring and groups of late ranks; and when
// schedules are predicted to end. (The straggler's:
// schedule_parts_test.cpp.)
#include <algorithm>
#include <bit>
#include <bitset>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "collectives/schedules/clairvoyant_allreduce.hpp"
#include "collectives/schedules/late_group.hpp"
#include "collectives/schedules/pre_reduced_ring.hpp"
#include "collectives/schedules/predicted_end.hpp"
#include "collectives/schedules/sorted_linear_tree.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/collectives/schedules.hpp"
#include "tests/unit/random.hpp"

namespace rollcall::collectives {
namespace {

using Contributions = std::bitset<64>;

/// Each rank gets each contribution exactly once, and a message that replaces a chunk carries the complete chunk.
void expect_reduced_to_all(std::vector<ChunkMessage> messages, int P, int chunks) {
    const auto ranks = static_cast<std::size_t>(P), count = static_cast<std::size_t>(chunks);
    std::vector<Contributions> has(ranks * count);
    for (std::size_t cell = 0; cell < has.size(); ++cell) has[cell].set(cell / count);
    const auto cell = [&](int rank, int chunk) -> Contributions& {
        return has[static_cast<std::size_t>(rank) * count + static_cast<std::size_t>(chunk)];
    };
    std::stable_sort(messages.begin(), messages.end(), [](const auto& one, const auto& other) { return one.round < other.round; });
    for (auto begin = messages.begin(); begin != messages.end();) {
        const auto end = std::find_if(begin, messages.end(), [&](const ChunkMessage& message) { return message.round != begin->round; });
        std::vector<Contributions> payloads;
        std::vector<int> sends(ranks, 0);
        for (auto message = begin; message != end; ++message) {
            payloads.push_back(cell(message->sender, message->chunk));
            ASSERT_LE(++sends[static_cast<std::size_t>(message->sender)], 2) << "more than carry_out() takes";
        }
        for (auto message = begin; message != end; ++message) {
            ASSERT_NE(message->sender, message->receiver);
            const Contributions& payload = payloads[static_cast<std::size_t>(message - begin)];
            Contributions& own = cell(message->receiver, message->chunk);
            if (message->combine) {
                ASSERT_TRUE((own & payload).none()) << "a contribution twice";
                own |= payload;
            } else {
                ASSERT_EQ(payload.count(), ranks) << "a chunk that is not complete";
                own = payload;
            }
        }
        begin = end;
    }
    for (const Contributions& contributions : has) ASSERT_EQ(contributions.count(), ranks);
}

/// The messages of each rank alone are those of all that concern it.
template <class Make>
void expect_same_alone(const Make& make, const std::vector<ChunkMessage>& all, int P) {
    for (int rank = 0; rank < P; ++rank) {
        std::vector<ChunkMessage> its = all;
        std::erase_if(its, [&](const ChunkMessage& message) { return message.sender != rank && message.receiver != rank; });
        ASSERT_EQ(make(rank), its) << rank;
    }
}

void sort_by_round(std::vector<ChunkMessage>& messages) {
    const auto key = [](const ChunkMessage& one) { return std::tuple(one.round, one.sender, one.receiver, one.chunk, one.combine); };
    std::sort(messages.begin(), messages.end(), [&](const auto& one, const auto& other) { return key(one) < key(other); });
}

std::vector<ChunkMessage> sorted(std::vector<ChunkMessage> messages) {
    sort_by_round(messages);
    return messages;
}

std::vector<Nanoseconds> some_arrivals(std::mt19937_64& random, int P) {
    std::vector<Nanoseconds> arrivals(static_cast<std::size_t>(P), 0);
    const std::uint64_t most = std::vector<std::uint64_t>{1, 30, 1000, 100'000}[random() % 4];
    for (Nanoseconds& arrival : arrivals) arrival = static_cast<Nanoseconds>(random() % most);
    return arrivals;
}

TEST(SortedLinearTree, ReducesToAll) {
    std::mt19937_64 random = seeded_random();
    for (int P = 1; P <= 20; ++P)
        for (const int pieces : {1, 2, 9, 40}) {
            const std::vector<int> order = order_of_arrival(some_arrivals(random, P));
            const std::vector<ChunkMessage> messages = sorted_linear_tree(order, pieces);
            expect_reduced_to_all(messages, P, pieces);
            expect_same_alone([&](int rank) { return sorted_linear_tree(order, pieces, rank); }, messages, P);
            ASSERT_EQ(messages.size(), static_cast<std::size_t>(2 * (P - 1) * pieces));
            int rounds = 0;
            for (const ChunkMessage& message : messages) rounds = std::max(rounds, message.round + 1);
            ASSERT_EQ(rounds, P > 1 ? 2 * P + pieces - 3 : 0);
            if (HasFatalFailure()) return;
        }
}

TEST(SortedLinearTree, TheExampleInItsFile) {
    auto messages = sorted_linear_tree(std::vector{2, 0, 1}, 2);
    std::sort(messages.begin(), messages.end(),
              [](const auto& one, const auto& other) { return std::tuple(one.round, one.sender) < std::tuple(other.round, other.sender); });
    EXPECT_EQ(messages, (std::vector<ChunkMessage>{{0, 2, 0, 0, true},
                                                   {1, 0, 1, 0, true},
                                                   {1, 2, 0, 1, true},
                                                   {2, 0, 1, 1, true},
                                                   {2, 1, 2, 0, false},
                                                   {3, 1, 2, 1, false},
                                                   {3, 2, 0, 0, false},
                                                   {4, 2, 0, 1, false}}));
}

/// The messages of all ranks, found chunk by chunk.
std::vector<ChunkMessage> pre_reduced_ring_by_chunks(std::span<const Nanoseconds> arrivals, Nanoseconds round_time) {
    const int P = static_cast<int>(arrivals.size());
    const std::vector<int> order = order_of_arrival(arrivals);
    const auto rank_at = [&](int position) { return order[static_cast<std::size_t>(position)]; };
    const auto arrival = [&](int position) { return arrivals[static_cast<std::size_t>(rank_at(position))]; };
    std::vector<ChunkMessage> messages;
    const auto add = [&](int round, int from, int to, int chunk, bool combine) {
        messages.push_back({round, rank_at(from), rank_at(to), chunk, combine});
    };
    std::vector<int> before(static_cast<std::size_t>(P), 0);
    int ring = 0;
    for (int position = 0; position + 1 < P; ++position) {
        const auto chunks = static_cast<int>(std::min<Nanoseconds>((arrival(position + 1) - arrival(position)) / round_time, P));
        before[static_cast<std::size_t>(position)] = chunks;
        for (int chunk = 0; chunk < chunks; ++chunk) add(position + chunk, position, position + 1, chunk, true);
        if (chunks > 0) ring = std::max(ring, position + chunks);
    }
    for (int chunk = 0; chunk < P; ++chunk) {
        int last = -1;
        for (int place = 0; place < P; ++place) {
            const int position = (chunk + place) % P;
            if (chunk < before[static_cast<std::size_t>(position)]) continue;
            if (last >= 0) add(ring + last, (chunk + last) % P, position, chunk, true);
            last = place;
        }
        for (int place = last; place < last + P - 1; ++place) add(ring + place, (chunk + place) % P, (chunk + place + 1) % P, chunk, false);
    }
    return messages;
}

TEST(PreReducedRing, EachRankFindsItsMessagesAlone) {
    std::mt19937_64 random = seeded_random();
    for (int P = 1; P <= 20; ++P)
        for (int repetition = 0; repetition < test::repetitions(50); ++repetition) {
            const std::vector<Nanoseconds> arrivals = some_arrivals(random, P);
            const auto all = sorted(pre_reduced_ring_by_chunks(arrivals, 10));
            ASSERT_EQ(sorted(pre_reduced_ring(arrivals, 10)), all) << P;
            expect_same_alone([&](int rank) { return sorted(pre_reduced_ring(arrivals, 10, rank)); }, all, P);
            if (HasFatalFailure()) return;
        }
}

TEST(PreReducedRing, ReducesToAllWhateverTheArrivals) {
    std::mt19937_64 random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(300); ++repetition) {
        const int P = 1 + static_cast<int>(random() % 24);
        const std::vector<Nanoseconds> arrivals = some_arrivals(random, P);
        const auto messages = pre_reduced_ring(arrivals, 10);
        expect_reduced_to_all(messages, P, P);
        ASSERT_EQ(messages.size(), static_cast<std::size_t>(2 * P * (P - 1)));
        if (HasFatalFailure()) return;
    }
}

TEST(PreReducedRing, IsThePlainRingWhereAllArriveAtOnce) {
    for (int P = 1; P <= 17; ++P) {
        std::vector<ChunkMessage> ring;
        for (int block = 0; block < P; ++block)
            for (int i = 0; i < 2 * (P - 1); ++i) ring.push_back({i, (block + i) % P, (block + i + 1) % P, block, i < P - 1});
        // Times of less than a message apart do not count, but for the order.
        std::vector<Nanoseconds> arrivals;
        for (int rank = 0; rank < P; ++rank) arrivals.push_back(5 * rank);
        sort_by_round(ring);
        EXPECT_EQ(sorted(pre_reduced_ring(std::vector<Nanoseconds>(static_cast<std::size_t>(P), 7), 10)), ring) << P;
        EXPECT_EQ(sorted(pre_reduced_ring(arrivals, 10)), ring) << P;
    }
}

TEST(PreReducedRing, TheExampleInItsFile) {
    auto messages = pre_reduced_ring(std::vector<Nanoseconds>{0, 0, 20}, 10);
    sort_by_round(messages);
    EXPECT_EQ(messages, (std::vector<ChunkMessage>{{1, 1, 2, 0, true},
                                                   {2, 1, 2, 1, true},
                                                   {3, 0, 2, 0, true},
                                                   {3, 2, 0, 2, true},
                                                   {4, 0, 1, 2, true},
                                                   {4, 2, 0, 1, true},
                                                   {5, 0, 1, 1, false},
                                                   {5, 1, 2, 2, false},
                                                   {5, 2, 0, 0, false},
                                                   {6, 0, 1, 0, false},
                                                   {6, 1, 2, 1, false},
                                                   {6, 2, 0, 2, false}}));
}

// In the ring a rank sends one message in a round at most; and it is no longer than the plain one.
TEST(PreReducedRing, MakesNoRoundFuller) {
    std::mt19937_64 random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(300); ++repetition) {
        const int P = 2 + static_cast<int>(random() % 20);
        auto messages = pre_reduced_ring(some_arrivals(random, P), 10);
        sort_by_round(messages);
        int begins = messages.back().round;
        for (const ChunkMessage& message : messages)
            if (!message.combine) begins = std::min(begins, message.round);
        for (std::size_t i = 1; i < messages.size(); ++i) {
            const ChunkMessage &before = messages[i - 1], &message = messages[i];
            ASSERT_FALSE(message.round >= begins && message.round == before.round && message.sender == before.sender);
        }
        ASSERT_LE(messages.back().round - begins, 2 * (P - 1));
    }
}

TEST(ChunkMessages, StepsOfARank) {
    const std::vector<ChunkMessage> messages = {{1, 0, 1, 3, true}, {0, 1, 2, 3, true}, {1, 1, 0, 5, false}, {1, 2, 1, 1, false}};
    EXPECT_EQ(steps_of(messages, 1),
              (std::vector<Step>{{0, 2, 3, Step::send}, {1, 0, 5, Step::send}, {1, 2, 1, Step::replace}, {1, 0, 3, Step::combine}}));
}

void expect_one_port(const std::vector<ChunkMessage>& messages) {
    std::set<std::pair<int, int>> senders, receivers;
    for (const ChunkMessage& message : messages) {
        ASSERT_TRUE(senders.emplace(message.round, message.sender).second) << message.sender << " sends twice in a round";
        ASSERT_TRUE(receivers.emplace(message.round, message.receiver).second) << message.receiver << " receives twice in a round";
    }
}

TEST(ClairvoyantAllreduce, TheExampleInItsFile) {
    EXPECT_EQ(clairvoyant_allreduce(std::vector<Nanoseconds>{0, 0, 50}, 2, 10), (std::vector<ChunkMessage>{{0, 1, 0, 0, true},
                                                                                                           {1, 1, 0, 1, true},
                                                                                                           {2, 2, 0, 0, true},
                                                                                                           {3, 2, 0, 1, true},
                                                                                                           {3, 0, 1, 0, false},
                                                                                                           {4, 0, 2, 1, false},
                                                                                                           {5, 0, 1, 1, false},
                                                                                                           {5, 1, 2, 0, false}}));
    EXPECT_TRUE(clairvoyant_allreduce(std::vector<Nanoseconds>{7}, 3, 10).empty());
    EXPECT_THROW(clairvoyant_allreduce({}, 3, 10), Error);
    EXPECT_THROW(clairvoyant_allreduce(std::vector<Nanoseconds>{7}, 0, 10), Error);
}

TEST(ClairvoyantAllreduce, ReducesToAllWhateverTheArrivals) {
    auto random = seeded_random();
    for (int instance = 0; instance < test::repetitions(1500); ++instance) {
        const ReductionPlan given = random_reduction(random);
        SCOPED_TRACE(describe(given));
        const int P = static_cast<int>(given.arrivals.size());
        const std::vector<ChunkMessage> messages = clairvoyant_allreduce(given.arrivals, given.segments, given.round_time);
        ASSERT_EQ(messages.size(), static_cast<std::size_t>(2 * (P - 1) * given.segments));
        expect_reduced_to_all(messages, P, given.segments);
        expect_one_port(messages);
        if (P > 1) {
            ASSERT_LE(clairvoyant_allreduce_earliest_end(given.arrivals, given.segments, given.round_time),
                      predicted_end(messages, given.arrivals, given.round_time));
        }
        if (HasFatalFailure()) return;
    }
}

TEST(ClairvoyantAllreduce, RoundsAfterALateRankAndWithNoneLate) {
    for (const int P : {2, 3, 5, 8, 17, 32, 61})
        for (const int N : {1, 4, 16, 64}) {
            const int logarithm = std::bit_width(static_cast<unsigned>(P - 1));
            std::vector<Nanoseconds> arrivals(static_cast<std::size_t>(P), 0);
            EXPECT_LE(clairvoyant_allreduce(arrivals, N, 10).back().round + 1, 2 * N + 2 * logarithm) << P << " " << N;
            const int late = P / 2;
            arrivals[static_cast<std::size_t>(late)] = 10'000;
            const auto messages = clairvoyant_allreduce(arrivals, N, 10);
            const auto its_first = std::find_if(messages.begin(), messages.end(),
                                                [&](const auto& message) { return message.sender == late || message.receiver == late; });
            const int after = messages.back().round + 1 - its_first->round;
            EXPECT_GE(after, N + logarithm) << P << " " << N;
            EXPECT_LE(after, (N + logarithm) * 5 / 4 + 1) << P << " " << N;
        }
}

/// The number of rounds in which a late rank takes part, or which come after such a round.
int rounds_with_late(const std::vector<ChunkMessage>& messages, std::span<const int> order, int late) {
    const auto is_late = [&](int rank) { return std::find(order.end() - late, order.end(), rank) != order.end(); };
    const auto first =
        std::find_if(messages.begin(), messages.end(), [&](const auto& one) { return is_late(one.sender) || is_late(one.receiver); });
    return messages.back().round + 1 - first->round;
}

TEST(LateGroup, ReducesToAllInAboutTheRoundsThatItMustTake) {
    auto random = seeded_random();
    for (const int P : {2, 3, 4, 5, 7, 8, 12, 16, 31, 60})
        for (int late = 1; late<P; late += P> 16 ? 7 : 1)
            for (const int chunks_each : {1, 2, 4}) {
                if (P * chunks_each > 128) continue;
                SCOPED_TRACE(std::to_string(P) + " ranks, " + std::to_string(late) + " late, chunks " + std::to_string(chunks_each));
                const std::vector<int> order = order_of_arrival(some_arrivals(random, P));
                const auto messages = late_group_allreduce(order, late, chunks_each);
                expect_reduced_to_all(messages, P, P * chunks_each);
                expect_one_port(messages);
                ASSERT_TRUE(
                    std::is_sorted(messages.begin(), messages.end(), [](auto& one, auto& other) { return one.round < other.round; }));
                const int rounds = rounds_with_late(messages, order, late);
                const int least = (P + late - 1) * chunks_each;
                EXPECT_GE(rounds, least);
                EXPECT_LE(rounds, least + P + 1);
                if (HasFatalFailure()) return;
            }
    // The numbers that late_group.hpp promises, counted in rounds. A round sends one chunk, which is a 32nd of the elements (8 ranks, 4
    // chunks each).
    const std::vector<int> order = {3, 1, 0, 2, 7, 5, 6, 4};
    for (const auto& [late, rounds] : {std::pair{1, 38}, {2, 39}, {3, 46}, {4, 46}, {5, 50}, {6, 53}})
        EXPECT_EQ(rounds_with_late(late_group_allreduce(order, late, 4), order, late), rounds) << late;
}

TEST(LateGroup, TheExampleInItsFile) {
    const auto messages = late_group_allreduce(std::vector{0, 1, 2, 3}, 2, 1);
    ASSERT_GE(messages.size(), 14u);
    EXPECT_EQ(messages.back().round, 7);
    EXPECT_EQ(std::vector(messages.begin(), messages.begin() + 14), (std::vector<ChunkMessage>{{0, 0, 1, 1, true},
                                                                                               {0, 1, 0, 0, true},
                                                                                               {1, 0, 1, 3, true},
                                                                                               {1, 1, 0, 2, true},
                                                                                               {2, 2, 0, 0, true},
                                                                                               {2, 3, 1, 1, true},
                                                                                               {2, 0, 2, 2, true},
                                                                                               {2, 1, 3, 3, true},
                                                                                               {3, 3, 0, 0, true},
                                                                                               {3, 2, 1, 1, true},
                                                                                               {4, 3, 2, 2, true},
                                                                                               {4, 2, 3, 3, true},
                                                                                               {4, 0, 1, 0, false},
                                                                                               {4, 1, 0, 1, false}}));
    for (const int late : {0, 4}) EXPECT_THROW(late_group_allreduce(std::vector{0, 1, 2, 3}, late, 1), Error);
    EXPECT_THROW(late_group_allreduce(std::vector{0, 1, 2, 3}, 1, 0), Error);
}

TEST(PredictedEnd, CountsWhatPortsAndArrivalsAllow) {
    const auto end = [](const std::vector<ChunkMessage>& messages, const std::vector<Nanoseconds>& arrivals) {
        return predicted_end(messages, arrivals, 10);
    };
    EXPECT_EQ(end({}, {3, 5, 0}), 5);
    EXPECT_EQ(end({{0, 0, 1, 0, true}}, {3, 100, 0}), 100) << "it lands before its receiver comes";
    EXPECT_EQ(end({{0, 0, 1, 0, true}}, {100, 3, 0}), 110);
    EXPECT_EQ(end({{0, 0, 1, 0, true}, {0, 1, 0, 1, true}}, {0, 0}), 10) << "both ways at the same time";
    EXPECT_EQ(end({{1, 1, 2, 0, true}, {0, 0, 1, 0, true}}, {0, 0, 0}), 20) << "in the order of rounds";
    EXPECT_EQ(end({{0, 0, 2, 0, true}, {1, 1, 2, 1, true}}, {0, 0, 0}), 20) << "one after the other";
    EXPECT_EQ(end({{0, 0, 1, 0, true}, {0, 0, 2, 1, true}}, {0, 0, 0}), 20);
    // Allreduces count on this.
    for (int P = 2; P <= 64; ++P) {
        const std::vector<Nanoseconds> all(static_cast<std::size_t>(P), 7);
        EXPECT_EQ(predicted_end(pre_reduced_ring(all, 1), all, 10), 7 + 2 * (P - 1) * 10) << "a ring of " << P;
    }
}

}  // namespace
}  // namespace rollcall::collectives
