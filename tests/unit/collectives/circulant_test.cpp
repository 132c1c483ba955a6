#include "collectives/schedules/circulant.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace rollcall::collectives {
namespace {

std::string circulant_round(int p, std::uint64_t n, std::uint64_t number) {
    std::string messages;
    for (int rank = 0; rank < p; ++rank)
        if (const auto round = Circulant(rank, p).round(n, number); round.to >= 0)
            messages += fmt::format("{}->{} {{{}}} ", rank, round.to, round.sends);
    return messages;
}

TEST(Circulant, TheWorkedExample) {
    EXPECT_EQ(circulant_round(5, 3, 0), "0->2 {0} ");
    EXPECT_EQ(circulant_round(5, 3, 1), "0->3 {1} ");
    EXPECT_EQ(circulant_round(5, 3, 2), "0->1 {2} 2->3 {0} 3->4 {1} ");
    EXPECT_EQ(circulant_round(5, 3, 3), "0->2 {2} 2->4 {0} 4->1 {1} ");
    EXPECT_EQ(circulant_round(5, 3, 4), "0->3 {2} 1->4 {2} 3->1 {0} 4->2 {1} ");
    EXPECT_EQ(Circulant(2, 5).rounds(3), 5u);
}

std::vector<Circulant> all_parts(int p) {
    std::vector<Circulant> parts;
    for (int rank = 0; rank < p; ++rank) parts.emplace_back(rank, p);
    return parts;
}

// What makes it a broadcast, and the best one: both ends of every message agree on it, its sender has the piece, every rank gets each piece
// once, and there are n - 1 + ceil(log2 p) rounds with one message for each port. Returns what is wrong, or nothing.
std::string wrong_in_broadcast(const std::vector<Circulant>& parts, std::uint64_t n) {
    const int p = static_cast<int>(parts.size());
    const auto bits = static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(p - 1)));
    std::vector<std::vector<bool>> has(static_cast<std::size_t>(p), std::vector<bool>(n, false));
    has[0].assign(n, true);
    std::uint64_t messages = 0;
    std::vector<Circulant::Round> rounds(parts.size());
    for (std::uint64_t number = 0; number < n - 1 + bits; ++number) {
        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
            if (parts[rank].rounds(n) != n - 1 + bits) return "the number of rounds";
            rounds[rank] = parts[rank].round(n, number);
        }
        for (int rank = 0; rank < p; ++rank) {
            const Circulant::Round& round = rounds[static_cast<std::size_t>(rank)];
            const auto wrong = [&](const char* what) { return fmt::format("rank {} in round {}: {}", rank, number, what); };
            if (round.from >= 0 && rounds[static_cast<std::size_t>(round.from)].to != rank) return wrong("waits in vain");
            if (round.to < 0) continue;
            const auto to = static_cast<std::size_t>(round.to);
            if (rounds[to].from != rank || rounds[to].receives != round.sends) return wrong("sends what the other one does not expect");
            if (round.sends >= n || !has[static_cast<std::size_t>(rank)][round.sends]) return wrong("sends what it does not have");
            if (has[to][round.sends]) return wrong("sends what the other one has");
            ++messages;
        }
        for (std::size_t rank = 0; rank < rounds.size(); ++rank)
            if (rounds[rank].from >= 0) has[rank][rounds[rank].receives] = true;
    }
    // As many messages as pieces are missing, and none comes twice: so all have come.
    return messages == static_cast<std::uint64_t>(p - 1) * n ? "" : "pieces are missing";
}

TEST(Circulant, EveryNumberOfRanks) {
    EXPECT_EQ(Circulant(0, 1).rounds(5), 0u);
    for (int p = 2; p < 260; ++p) {
        const auto parts = all_parts(p);
        for (const std::uint64_t n : {1, 2, 3, 8, 21}) ASSERT_EQ(wrong_in_broadcast(parts, n), "") << p << " ranks, " << n << " pieces";
    }
}

TEST(Circulant, ManyRanks) {
    for (const int p : {511, 512, 513, 1000, 4097}) {
        const auto parts = all_parts(p);
        for (const std::uint64_t n : {1, 16}) ASSERT_EQ(wrong_in_broadcast(parts, n), "") << p << " ranks, " << n << " pieces";
    }
}

// All broadcasts at once: a message has the pieces that the receiver gets from the sender in them, and no others.
TEST(Circulant, AllBroadcastsAtOnce) {
    for (int p = 2; p < 70; ++p) {
        const auto parts = all_parts(p);
        const CirculantOfAll all(p);
        for (const std::uint64_t n : {1, 2, 3, 8, 21}) {
            ASSERT_EQ(all.rounds(n), parts[0].rounds(n));
            for (std::uint64_t number = 0; number < all.rounds(n); ++number) {
                const CirculantOfAll::Round round = all.round(n, number);
                auto next = round.parts.begin();
                for (int distance = p - 1; distance > 0; --distance) {
                    const auto received = parts[static_cast<std::size_t>(distance)].round(n, number);
                    if (received.from < 0) continue;
                    ASSERT_EQ(received.from, (distance - round.skip + p) % p);
                    ASSERT_NE(next, round.parts.end());
                    ASSERT_EQ(next->distance, distance);
                    ASSERT_EQ(next->piece, received.receives);
                    ++next;
                }
                ASSERT_EQ(next, round.parts.end());
            }
        }
    }
}

}  // namespace
}  // namespace rollcall::collectives
