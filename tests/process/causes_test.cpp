/// \file
/// A death that causes further deaths: the error names the first cause. ranks/causes.cpp says what each scenario checks.
#include <csignal>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

TEST(Causes, TheFirstIsNamed) {
    for (const std::string progress : {"thread", "host"})
        for (int i = 0; i < (kSanitized ? 1 : 3); ++i) {
            const Ended ended =
                run_ranks(3, {"left_because_of"}, {.environment = {"ROLLCALL_PROGRESS=" + progress}, .launcher = {"--grace", "60s"}});
            EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
            EXPECT_TRUE(has(ended.out, "rank 0 done")) << ended.error;
        }
}

TEST(Causes, OfALeavingAreTold) {
    const Ended ended = run_ranks(3, {"left_after_its_end_failed"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "rank 0 done")) << ended.error;
}

}  // namespace
}  // namespace rollcall::test
