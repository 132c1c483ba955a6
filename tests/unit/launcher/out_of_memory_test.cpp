#include "launcher/processes/out_of_memory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace rollcall::launcher {
namespace {

// The kernel does not say which processes it has killed. So the text says only what is known, and for as many ranks as there were kills.
TEST(OutOfMemory, IsAPossibleCauseOfAsManyKillsAsTheKernelCounts) {
    const std::string path = testing::TempDir() + "rollcall-vmstat-" + std::to_string(::getpid());
    const auto write = [&](int kills) { std::ofstream(path) << "nr_free_pages 17\noom_kill " << kills << "\nzswpin 0\n"; };
    write(4);
    OutOfMemory memory(path);
    EXPECT_EQ(memory.possible_cause(), "") << "they were before";
    write(5);
    EXPECT_EQ(memory.possible_cause(), " (the kernel has killed a process of its host for lack of memory since the job began)");
    EXPECT_EQ(memory.possible_cause(), "") << "it was told";
    write(7);
    EXPECT_EQ(memory.possible_cause(), " (the kernel has killed 3 processes of its host for lack of memory since the job began)");
    EXPECT_NE(memory.possible_cause(), "");
    EXPECT_EQ(memory.possible_cause(), "");
    std::filesystem::remove(path);
    EXPECT_EQ(memory.possible_cause(), "");
}

TEST(OutOfMemory, IsUnknownWhereTheKernelDoesNotCount) {
    OutOfMemory memory("/proc/self/no-such-file");
    EXPECT_EQ(memory.possible_cause(), "");
}

}  // namespace
}  // namespace rollcall::launcher
