// What a benchmark does after an error does not hide that error.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "bench/results/after_error.hpp"

namespace rollcall::bench {
namespace {

TEST(AfterError, ASecondErrorIsPrintedAndTheFirstOneGoesOn) {
    bool drawn = false;
    testing::internal::CaptureStderr();
    try {
        try {
            throw std::runtime_error("the peer failed");
        } catch (...) {
            after_error([&] { drawn = true; });
            after_error([] { throw std::runtime_error("the disk\nis full"); });
            throw;
        }
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the peer failed");
    }
    EXPECT_TRUE(drawn);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("rollcall: the disk"), std::string::npos) << printed;
    EXPECT_NE(printed.find("is full"), std::string::npos) << printed;
}

}  // namespace
}  // namespace rollcall::bench
