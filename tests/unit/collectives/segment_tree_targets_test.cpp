// The segment tree is compiled for several kinds of processors. All that this one can run must give the same schedules.
#include <gtest/gtest.h>

#include "collectives/schedules/clairvoyant.hpp"
#include "collectives/vectors/targets.hpp"
#include "tests/unit/collectives/schedules.hpp"
#include "tests/unit/random.hpp"

namespace rollcall::collectives {
namespace {

class SegmentTreeTargets : public testing::Test {
  protected:
    void TearDown() override { chosen_vector_target().Update(supported_vector_targets()); }
};

TEST_F(SegmentTreeTargets, GiveTheSameSchedules) {
    std::mt19937_64 random = seeded_random();
    std::vector<ReductionPlan> reductions;
    for (int instance = 0; instance < 50; ++instance) reductions.push_back(random_reduction(random));
    for (const int N : {1, 64, 65, 128, 129, 256, 257, 511, 512, 513, 1000}) {
        reductions.push_back(random_reduction(random));
        reductions.back().segments = N;
    }
    const std::int64_t targets = supported_vector_targets() & HWY_TARGETS;
    ASSERT_NE(targets, 0);
    for (const ReductionPlan& reduction : reductions) {
        const Schedule expected = clairvoyant(reduction, SearchKind::linear);
        for (std::int64_t others = targets; others != 0; others &= others - 1) {
            const std::int64_t target = others & -others;
            chosen_vector_target().Update(target);
            ASSERT_EQ(clairvoyant(reduction, SearchKind::segment_tree).transfers, expected.transfers)
                << hwy::TargetName(target) << ": " << describe(reduction);
        }
    }
}

}  // namespace
}  // namespace rollcall::collectives
