/// \file
/// Who takes part in a round: GET-ACTIVE of Proficz and Ocetkiewicz, section 5.2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::collectives {

/// A process is available from its arrival on, and after each round again one round time later. A round begins when the first process
/// is available, and all take part who are before it ends: in [first, first + d). The merge of two sorted lists, of those who have taken
/// part and of those who wait, gives them in order of availability and rank.
///
/// The paper says "no later than d units after", so [first, first + d]. That differs only for whole multiples of d; there the paper's own
/// example of idle rounds (section 5.1: 1000 and 999 of them) follows from the half-open interval.
///
/// Times are counted in whole rounds and a rest, as integers. In a round all members advance by one round, so only the number of the
/// round changes, and their order does not. One thread.
class ActiveSet {
  public:
    ActiveSet(std::span<const Nanoseconds> arrivals, Nanoseconds round_time);

    /// Goes on to the next round in which there are two processes at least; false: there is none. Processes whose `held` is 0 leave.
    bool next(std::span<const int> held);
    /// In order of availability.
    const std::vector<int>& members() const { return ranks_; }
    std::int64_t round() const { return round_; }
    /// Rounds that next() left out.
    std::int64_t idle_rounds() const { return idle_rounds_; }

  private:
    struct Member {
        std::int64_t rounds;   ///< When it is available: of a member less the round, which all members have in common.
        Nanoseconds fraction;  ///< The rest, less than a round time.
        int rank;
        auto operator<=>(const Member&) const = default;
    };
    void admit(std::int64_t rounds, Nanoseconds fraction);

    std::vector<Member> waiting_;  ///< A; the next one is the last.
    std::vector<Member> members_;  ///< G
    std::vector<Member> merged_;
    std::vector<int> ranks_;  ///< Of the members.
    std::int64_t round_ = -1;
    std::int64_t idle_rounds_ = 0;
};

}  // namespace rollcall::collectives
