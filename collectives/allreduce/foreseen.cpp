#include "collectives/allreduce/foreseen.hpp"

#include "collectives/arrivals/foresight.hpp"

namespace rollcall::collectives {

Task allreduce_foreseen(Operation& op, MakePart make) {
    const auto data = op.arguments().data;
    Foresight foresight;
    co_await foresee_arrivals(op, 0, foresight);
    if (op.size() == 1) {
        co_await op.arrival();
        co_await copy_own(op, data, op.arguments().contribution);
        co_return;
    }
    const ForeseenPart part = make(op, foresight.arrivals);
    co_await op.arrival();
    co_await carry_out(op, part.steps, part.segments, data, kTimesStep + 1);
    co_await op.all_of(foresight.telling);
}

}  // namespace rollcall::collectives
