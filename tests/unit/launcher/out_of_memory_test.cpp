#include "launcher/out_of_memory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace rollcall::launcher {
namespace {

TEST(OutOfMemory, ExplainsAsManyKillsAsTheKernelCounts) {
    const std::string path = testing::TempDir() + "rollcall-vmstat-" + std::to_string(::getpid());
    const auto write = [&](int kills) { std::ofstream(path) << "nr_free_pages 17\noom_kill " << kills << "\nzswpin 0\n"; };
    write(4);
    OutOfMemory memory(path);
    EXPECT_FALSE(memory.explains_kill()) << "they were before";
    write(6);
    EXPECT_TRUE(memory.explains_kill());
    EXPECT_TRUE(memory.explains_kill());
    EXPECT_FALSE(memory.explains_kill());
    std::filesystem::remove(path);
    EXPECT_FALSE(memory.explains_kill());
}

TEST(OutOfMemory, IsUnknownWhereTheKernelDoesNotCount) {
    OutOfMemory memory("/proc/self/no-such-file");
    EXPECT_FALSE(memory.explains_kill());
}

}  // namespace
}  // namespace rollcall::launcher
