/// \file
/// The round-optimal broadcast of a message in pieces. J. L. Träff, "Optimal broadcast schedules in logarithmic time with applications to
/// broadcast, all-broadcast, reduction and all-reduction", arXiv 2407.18004; "Round-optimal n-block broadcast schedules in logarithmic
/// time", arXiv 2312.11236. A pure computation.
#pragma once

#include <cstdint>
#include <vector>

namespace rollcall::collectives {

/// The rounds of broadcasts of n pieces to p ranks. In a round, a rank sends at most one piece and receives at most one. All ranks have all
/// pieces after n - 1 + ceil(log2 p) rounds, and no schedule needs fewer. Every rank receives each piece once.
///
/// In round i, rank r sends to r + skip and receives from r - skip (modulo p), where skip takes ceil(log2 p) values in turn. A rank finds
/// out by itself what it receives (O(log p) steps). What it sends is what the other rank receives.
///
/// Example: p = 5, n = 3 pieces. Round 0: 0->2 {0}. Round 1: 0->3 {1}. Round 2: 0->1 {2}, 2->3 {0}, 3->4 {1}. Round 3: 0->2 {2}, 2->4 {0},
/// 4->1 {1}. Round 4: 0->3 {2}, 1->4 {2}, 3->1 {0}, 4->2 {1}.
class CirculantRounds {
  public:
    /// There must be at least one piece.
    std::uint64_t rounds(std::uint64_t pieces) const { return ranks_ == 1 ? 0 : pieces - 1 + phase_rounds(); }

  protected:
    explicit CirculantRounds(int ranks);
    /// What a rank receives in the rounds of a phase: the number of a piece, to which each phase adds the number of its rounds.
    using Schedule = std::vector<int>;
    /// Ranks are counted from the root, which receives nothing.
    Schedule schedule_of(int rank) const;
    /// The piece that a rank with this schedule receives in a round; -1: none.
    std::int64_t piece_in(const Schedule& schedule, std::uint64_t pieces, std::uint64_t round) const;
    /// The place of a round in its phase.
    std::size_t in_phase(std::uint64_t pieces, std::uint64_t round) const { return (round + left_out(pieces)) % phase_rounds(); }
    std::size_t phase_rounds() const { return skips_.size() - 1; }

    int ranks_;
    std::vector<int> skips_;  ///< One for each round of a phase, and `ranks` behind them.

  private:
    int base_of(int rank) const;
    /// How many rounds of the first phase are left out, so that the last phase is whole.
    std::uint64_t left_out(std::uint64_t pieces) const { return (phase_rounds() - (pieces - 1) % phase_rounds()) % phase_rounds(); }
};

/// One rank's part in a broadcast.
class Circulant : public CirculantRounds {
  public:
    /// Ranks are counted from the root.
    Circulant(int rank, int ranks);

    struct Round {
        int to = -1, from = -1;  ///< -1: it sends, or receives, nothing in this round.
        std::uint64_t sends = 0, receives = 0;
    };
    Round round(std::uint64_t pieces, std::uint64_t number) const;

  private:
    int rank_;
    Schedule receives_;            ///< Empty at the root.
    std::vector<Schedule> sends_;  ///< For each round of a phase: the schedule of the rank to which this rank then sends.
};

/// The broadcasts of all ranks at once, each of its own n pieces. In a round, the pieces from one rank to another one are one message.
/// Messages of a round differ in nothing but the ranks from which the pieces come.
class CirculantOfAll : public CirculantRounds {
  public:
    explicit CirculantOfAll(int ranks);

    struct Part {
        int distance;  ///< It comes from the rank so many places before the receiver.
        std::uint64_t piece;
    };
    struct Round {
        int skip;                 ///< Each rank sends to the rank so many places behind it.
        std::vector<Part> parts;  ///< From the farthest rank to the nearest.
    };
    Round round(std::uint64_t pieces, std::uint64_t number) const;

  private:
    std::vector<Schedule> receives_;  ///< By distance from the root.
};

}  // namespace rollcall::collectives
