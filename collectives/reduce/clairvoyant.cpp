// Clairvoyant reduce. J. Proficz and K. M. Ocetkiewicz, "Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival
// patterns", 2020, after Marendic et al., 2016.
//
// Idea: from the times at which ranks are expected all compute the same schedule (collectives/schedules/clairvoyant.hpp): in each round
// those who are there by then exchange pieces, so that what early ranks bring has been combined when the last one comes, and then takes
// about one message. The root knows the times from its board, and tells them to all, before they arrive where the call is planned. Who is
// not expected counts as the last one. The schedule decides only who sends what to whom: nobody waits for a time.
//
// Example, 4 ranks, 4 pieces, root 0, rank 3 late: round by round in collectives/schedules/clairvoyant.cpp.
#include <optional>
#include <vector>

#include "collectives/carry_out.hpp"
#include "collectives/foresight.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {
namespace {

/// The schedule is computed by every rank, in time that grows with the pieces.
constexpr std::uint64_t kMostPieces = 256;

}  // namespace

Task reduce_clairvoyant(Operation& op) {
    const bool is_root = op.rank() == op.root();
    const auto contribution = op.arguments().contribution;
    Foresight foresight;
    co_await foresee_arrivals(op, op.root(), foresight);
    if (op.size() == 1) {
        co_await op.arrival();
        co_await copy_own(op, op.arguments().data, contribution);
        co_return;
    }
    const std::vector<Share> pieces = pieces_of(op, op.arguments().segment_bytes, kMostPieces);
    const Schedule schedule = clairvoyant({.arrivals = foresight.arrivals,
                                           .segments = static_cast<int>(pieces.size()),
                                           .root = op.root(),
                                           .round_time = foreseen_time(pieces[0].size())});
    std::optional<Scratch> scratch;
    if (!is_root) scratch.emplace(contribution.size, contribution);
    const std::vector<Step> steps = steps_of(schedule, op.rank());
    co_await op.arrival();  // what is computed in the background costs the caller nothing
    co_await carry_out(op, steps, pieces, is_root ? op.arguments().data : scratch->bytes(), kTimesStep + 1);
    co_await op.all_of(foresight.telling);
}

}  // namespace rollcall::collectives
