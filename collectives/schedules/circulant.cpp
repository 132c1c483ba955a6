#include "collectives/schedules/circulant.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::collectives {
namespace {

// Finds the pieces that a rank receives in a phase: Algorithm 6 ("dfs") of arXiv 2407.18004. The pieces have the numbers of the skips, by
// which they can come to the rank. Paths that use the longest skips first are tried first. A skip that has been used is taken out.
class Search {
  public:
    Search(const std::vector<int>& skips, int rank)
        : skips_(skips), rounds_(static_cast<int>(skips.size()) - 1), ranks_(skips.back()), rank_(rank), bound_(2ll * ranks_) {
        for (int skip = 0; skip <= rounds_; ++skip) {
            after(skip) = skip - 1;
            before(skip) = skip + 1;
        }
        after(kEnd) = rounds_;
        before(rounds_) = kEnd;
        before(kEnd) = 0;
    }
    void take_out(int skip) {
        after(before(skip)) = after(skip);
        before(after(skip)) = before(skip);
    }
    void go_from(long long at, int skip) {
        for (; skip != kEnd && !done(); skip = after(skip)) {
            const long long next = at + length(skip);
            if (next > limit(found()) || next >= bound_) continue;
            if (next <= limit(found() + 1)) {
                go_from(next, skip);
                if (done()) return;
            }
            if (at > limit(found() + 1)) return;
            bound_ = next;
            pieces_.push_back(skip);
            take_out(skip);
        }
    }
    const std::vector<int>& pieces() const { return pieces_; }

  private:
    static constexpr int kEnd = -1;
    bool done() const { return found() == rounds_; }
    int found() const { return static_cast<int>(pieces_.size()); }
    long long length(int skip) const { return skips_[static_cast<std::size_t>(skip)]; }
    /// The farthest place from which a path still reaches the rank in this round.
    long long limit(int round) const { return ranks_ + rank_ - length(round); }
    int& after(int skip) { return after_[static_cast<std::size_t>(skip + 1)]; }
    int& before(int skip) { return before_[static_cast<std::size_t>(skip + 1)]; }

    const std::vector<int>& skips_;
    int rounds_;
    long long ranks_, rank_, bound_;
    std::vector<int> after_ = std::vector<int>(skips_.size() + 1), before_ = after_;  // a list of the skips, the longest first
    std::vector<int> pieces_;
};

}  // namespace

CirculantRounds::CirculantRounds(int ranks) : ranks_(ranks) {
    const int rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
    skips_.assign(static_cast<std::size_t>(rounds) + 1, ranks);
    for (std::size_t round = skips_.size() - 1; round-- > 0;) skips_[round] = skips_[round + 1] / 2 + skips_[round + 1] % 2;
}

// The round in which a rank gets its first piece; for the root, the number of rounds.
int CirculantRounds::base_of(int rank) const {
    for (std::size_t round = phase_rounds(); round-- > 0;) {
        if (rank == skips_[round]) return static_cast<int>(round);
        if (rank > skips_[round]) rank -= skips_[round];
    }
    return static_cast<int>(phase_rounds());
}

CirculantRounds::Schedule CirculantRounds::schedule_of(int rank) const {
    if (rank == 0) return {};
    const int rounds = static_cast<int>(phase_rounds()), base = base_of(rank);
    Search search(skips_, rank);
    search.take_out(base);
    search.go_from(0, rounds);
    Schedule pieces = search.pieces();
    for (int& piece : pieces) piece = piece == rounds ? base : piece - rounds;
    return pieces;
}

std::int64_t CirculantRounds::piece_in(const Schedule& schedule, std::uint64_t pieces, std::uint64_t round) const {
    if (schedule.empty()) return -1;
    const auto phase = static_cast<std::int64_t>(phase_rounds()), shift = static_cast<std::int64_t>(left_out(pieces));
    const auto last = static_cast<std::int64_t>(pieces) - 1;
    const std::int64_t now = static_cast<std::int64_t>(round) + shift;
    const auto number = [&](std::int64_t at) { return schedule[static_cast<std::size_t>(at % phase)] - shift + at / phase * phase; };
    if (number(now) < last) return number(now) < 0 ? -1 : number(now);
    // Numbers beyond the last piece stand for it, too. Only the first such message is needed; it came within one phase, too, if it came at
    // all.
    for (std::int64_t at = std::max(shift, now - phase); at < now; ++at)
        if (number(at) >= last) return -1;
    return last;
}

Circulant::Circulant(int rank, int ranks) : CirculantRounds(ranks), rank_(rank), receives_(schedule_of(rank)) {
    for (std::size_t round = 0; round < phase_rounds(); ++round)
        sends_.push_back(schedule_of(static_cast<int>((static_cast<long long>(rank) + skips_[round]) % ranks)));
}

Circulant::Round Circulant::round(std::uint64_t pieces, std::uint64_t number) const {
    const std::size_t now = in_phase(pieces, number);
    Round round;
    if (const std::int64_t piece = piece_in(sends_[now], pieces, number); piece >= 0) {
        round.to = static_cast<int>((static_cast<long long>(rank_) + skips_[now]) % ranks_);
        round.sends = static_cast<std::uint64_t>(piece);
    }
    if (const std::int64_t piece = piece_in(receives_, pieces, number); piece >= 0) {
        round.from = (rank_ - skips_[now] + ranks_) % ranks_;
        round.receives = static_cast<std::uint64_t>(piece);
    }
    return round;
}

CirculantOfAll::CirculantOfAll(int ranks) : CirculantRounds(ranks) {
    for (int distance = 0; distance < ranks; ++distance) receives_.push_back(schedule_of(distance));
}

CirculantOfAll::Round CirculantOfAll::round(std::uint64_t pieces, std::uint64_t number) const {
    Round round{.skip = skips_[in_phase(pieces, number)], .parts = {}};
    for (int distance = ranks_ - 1; distance > 0; --distance)
        if (const std::int64_t piece = piece_in(receives_[static_cast<std::size_t>(distance)], pieces, number); piece >= 0)
            round.parts.push_back({distance, static_cast<std::uint64_t>(piece)});
    return round;
}

}  // namespace rollcall::collectives
