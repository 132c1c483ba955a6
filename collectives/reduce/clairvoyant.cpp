// Clairvoyant reduce. J. Proficz and K. M. Ocetkiewicz, "Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival
// patterns", 2020, after Marendic et al., 2016.
//
// Idea: all ranks compute the same schedule from the times at which the ranks are expected (collectives/schedules/clairvoyant.hpp). In each
// round, the ranks that are there exchange pieces. So the elements of early ranks are combined by the time the last rank arrives, and after
// that the operation takes about one message. The root knows the times from its board and tells them to all ranks; if the call is planned,
// it does so before the ranks arrive. A rank whose arrival is not predicted counts as the last one. The schedule only decides which rank
// sends what to which rank: no rank waits for a point in time.
//
// Example: 4 ranks, 4 pieces, root 0, rank 3 late. It is shown round by round in collectives/schedules/clairvoyant.cpp.
#include "collectives/reduce/clairvoyant.hpp"

#include <optional>
#include <vector>

#include "collectives/arrivals/foresight.hpp"
#include "collectives/combining/carry_out.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_by_schedule(Operation& op, const Foresight& foresight, std::uint64_t most_pieces) {
    const bool is_root = op.rank() == op.root();
    const auto contribution = op.arguments().contribution;
    if (op.size() == 1) {
        co_await op.arrival();
        co_await copy_own(op, op.arguments().data, contribution);
        co_return;
    }
    const std::vector<Share> pieces = pieces_of(op, op.arguments().segment_bytes, most_pieces);
    const Schedule schedule = clairvoyant({.arrivals = foresight.arrivals,
                                           .segments = static_cast<int>(pieces.size()),
                                           .root = op.root(),
                                           .round_time = foreseen_time(op, pieces[0].size())});
    std::optional<Scratch> scratch;
    if (!is_root) scratch.emplace(contribution.size, contribution);
    const std::vector<Step> steps = steps_of(schedule, op.rank());
    co_await op.arrival();  // the schedule has been computed in the background, at no cost for the caller
    remember_lateness(op, foresight);
    co_await carry_out(op, steps, pieces, is_root ? op.arguments().data : scratch->bytes(), kTimesStep + 1);
}

Task reduce_clairvoyant(Operation& op) {
    Foresight foresight;
    co_await foresee_arrivals(op, op.root(), foresight);
    co_await reduce_by_schedule(op, foresight, most_foreseen_pieces(op.size()));
    co_await op.all_of(foresight.telling);
}

}  // namespace rollcall::collectives
