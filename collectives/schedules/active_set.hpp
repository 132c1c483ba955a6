/// \file
/// Which processes take part in a round: GET-ACTIVE of Proficz and Ocetkiewicz, section 5.2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::collectives {

/// A process is available from its arrival on, and after each round again one round time later. A round begins when the first process is
/// available. All processes take part that become available before the round ends, that is, in [first, first + d). There are two sorted
/// lists: the processes that have taken part, and those that wait. Merging them gives all in the order of availability and rank.
///
/// The paper says "no later than d units after", so [first, first + d]. The two differ only for whole multiples of d. There the paper's own
/// example of idle rounds (section 5.1: 1000 and 999 of them) follows from the half-open interval.
///
/// Times are counted as integers: whole rounds and a rest. In a round all members advance by one round, so only the number of the round
/// changes, and their order does not. For one thread.
class ActiveSet {
  public:
    ActiveSet(std::span<const Nanoseconds> arrivals, Nanoseconds round_time);

    /// Goes on to the next round with at least two processes. False: there is none. Processes whose `held` is 0 leave.
    bool next(std::span<const int> held);
    /// The processes of this round, in the order of availability.
    const std::vector<int>& members() const { return ranks_; }
    std::int64_t round() const { return round_; }
    /// The number of rounds that next() has skipped.
    std::int64_t idle_rounds() const { return idle_rounds_; }

  private:
    struct Member {
        std::int64_t rounds;   ///< When it is available. For a member, the number of the round is subtracted.
        Nanoseconds fraction;  ///< The rest, less than a round time.
        int rank;
        auto operator<=>(const Member&) const = default;
    };
    void admit(std::int64_t rounds, Nanoseconds fraction);

    std::vector<Member> waiting_;  ///< A in the paper. The next process is the last element.
    std::vector<Member> members_;  ///< G in the paper.
    std::vector<Member> merged_;
    std::vector<int> ranks_;  ///< The ranks of the members.
    std::int64_t round_ = -1;
    std::int64_t idle_rounds_ = 0;
};

}  // namespace rollcall::collectives
