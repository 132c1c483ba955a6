#include "transports/process_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/pages.hpp"

namespace rollcall::transport {
namespace {

constexpr std::size_t kPages = 20;

// Where the target lies a few bytes behind the source, apart from whole pages, the memory is read in pieces of 32 KiB.
TEST(ReadMemory, GivesEachByteWhereverTheBuffersBegin) {
    if (const std::string why = why_memory_cannot_be_read(); !why.empty()) GTEST_SKIP() << why;
    const auto there = make_pages(kPages), here = make_pages(kPages);
    for (std::size_t i = 0; i < kPages * kPageBytes; ++i) there.get()[i] = static_cast<unsigned char>(i * 7 + i / 251);
    constexpr unsigned char kUntouched = 0xee;
    for (const std::size_t size : {1u, 4095u, 4096u, 32768u, 32769u, 65536u, 70001u})
        for (const std::size_t read_at : {0u, 5u, 4090u})
            for (const std::size_t behind : {0u, 1u, 16u, 31u, 32u}) {
                std::fill_n(here.get(), kPages * kPageBytes, kUntouched);
                unsigned char* const into = here.get() + read_at + behind;
                ASSERT_TRUE(read_memory(::getpid(), reinterpret_cast<std::uint64_t>(there.get() + read_at), into, size));
                ASSERT_TRUE(std::equal(into, into + size, there.get() + read_at))
                    << size << " bytes at " << read_at << ", " << behind << " behind";
                const auto is_untouched = [](unsigned char byte) { return byte == kUntouched; };
                ASSERT_TRUE(std::all_of(here.get(), into, is_untouched));
                ASSERT_TRUE(std::all_of(into + size, here.get() + kPages * kPageBytes, is_untouched));
            }
}

TEST(ReadMemory, FailsWhereAPartCannotBeRead) {
    if (const std::string why = why_memory_cannot_be_read(); !why.empty()) GTEST_SKIP() << why;
    const auto here = make_pages(kPages);
    constexpr std::uint64_t kNowhere = kPageBytes;
    EXPECT_FALSE(read_memory(::getpid(), kNowhere, here.get(), 2 * kPageBytes));
    EXPECT_FALSE(read_memory(::getpid(), kNowhere, here.get() + 16, 2 * kPageBytes));
}

TEST(ReadMemory, TellsThatAProcessIsEnding) {
    if (const std::string why = why_memory_cannot_be_read(); !why.empty()) GTEST_SKIP() << why;
    EXPECT_FALSE(is_ending(::getpid()));
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_GT(child, 0);
    siginfo_t how{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(is_ending(child)) << "it is still in the table of processes";
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(is_ending(child));
}

}  // namespace
}  // namespace rollcall::transport
