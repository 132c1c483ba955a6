// The log of the library in a program that uses spdlog itself.
#include "foundation/log.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace rollcall {
namespace {

TEST(Log, IsNotChangedByTheProgramsSpdlog) {
    start_log("warning");
    ASSERT_NE(library_log(), nullptr);
    const auto level = library_log()->level();
    EXPECT_EQ(spdlog::get("rollcall"), nullptr);
    const auto before = spdlog::get_level();
    spdlog::set_level(spdlog::level::critical);
    EXPECT_EQ(library_log()->level(), level);
    spdlog::set_level(before);
}

}  // namespace
}  // namespace rollcall
