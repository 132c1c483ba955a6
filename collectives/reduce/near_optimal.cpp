// Near-optimal reduce, an oracle. V. Marendic, J. Lemeire, T. Haber, D. Vucinic and P. Schelkens, "An investigation into the performance of
// reduction algorithms under load imbalance", Euro-Par 2012, on reductions whose arrivals are known beforehand; the schedule is that of
// Clairvoyant.
//
// Idea: all arrival times are known beforehand, so all ranks compute the schedule of the clairvoyant reduce for them, and no rank needs to
// be told anything. Real programs do not know arrival times beforehand, so this algorithm runs in simulations only. It shows how soon after
// the last arrival a reduce can end: about one message, if the others arrive early enough.
//
// Example: 4 ranks, 4 pieces, root 0, rank 3 late. It is shown round by round in collectives/schedules/clairvoyant.cpp.
#include "collectives/reduce/clairvoyant.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_near_optimal(Operation& op) {
    const Nanoseconds* const oracle = op.arguments().oracle;
    const Foresight foresight{.arrivals = {oracle, oracle + op.size()}, .telling = {}};
    co_await reduce_by_schedule(op, foresight, kMostForeseenPieces);
}

}  // namespace rollcall::collectives
