/// \file
/// Tests the checks of the options of a sweep.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "bench/options/sweep.hpp"

namespace rollcall::bench {
namespace {

constexpr ::uid_t kAnotherUser = 65534;

// Permissions do not stop root, so a process of another user looks.
TEST(SweepFiles, ThatMayNotBeWrittenAreRefusedWithTheReason) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    std::string directory = std::filesystem::temp_directory_path() / "rollcall-sweep-XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);  // for root alone
    for (const std::string& path : {std::string("/usr/x.csv"), directory + "/y/x.csv"}) {
        const auto look = [&] {
            int code = 1;
            try {
                Sweep sweep;
                sweep.raw = path;
                if (::setresuid(kAnotherUser, kAnotherUser, kAnotherUser) == 0) require_files(sweep);
                code = 0;
            } catch (const std::exception& error) {
                std::fputs(error.what(), stderr);
            }
            ::_exit(code);
        };
        EXPECT_EXIT(look(), ::testing::ExitedWithCode(1), "^--raw '" + path + "' cannot be written: Permission denied$");
    }
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace rollcall::bench
