// A look for what an operation waits for may itself fail the operation.
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::OperationKind;
using runtime::Simulation;

bool at_first_look, went_on;

runtime::Task fails_in_a_look(runtime::Operation& op) {
    const runtime::Pending soon = op.moment();  // after it, there is a second look
    int looks = 0;
    co_await op.until([&] {
        if (++looks == 1 && !at_first_look) return false;
        op.tell_exchange_differs(0, 1, 8, 16);
        return true;
    });
    went_on = true;
}

// A look may find what the operation waits for, and a mismatch, too. Then what has been published was taken back, and the operation must
// publish nothing more.
TEST(FailingLook, IsTheLastOne) {
    for (const bool first : {true, false}) {
        at_first_look = first;
        went_on = false;
        Simulation::Options options;
        options.ranks = 2;
        Simulation simulation(options);
        const auto call_of = [](int) {
            Simulation::RankCall call;
            call.call.kind = OperationKind::allgather;
            call.algorithm = &fails_in_a_look;
            return call;
        };
        const std::vector<Nanoseconds> arrivals(2);
        const auto outcome = simulation.run(call_of, arrivals);
        for (const auto& error : outcome.errors) EXPECT_TRUE(error);
        EXPECT_FALSE(went_on) << first;
    }
}

}  // namespace
}  // namespace rollcall::model_test
