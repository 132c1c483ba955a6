#include "foundation/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "tests/unit/pages.hpp"

namespace rollcall {
namespace {

TEST(CopyBytes, CopiesEachByteWhereverTheBuffersBegin) {
    constexpr std::size_t kPages = 4;
    const Pages from = make_pages(kPages), to = make_pages(kPages);
    for (std::size_t i = 0; i < kPages * kPageBytes; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
    constexpr unsigned char kUntouched = 0xee;
    for (const std::size_t size : {0u, 1u, 7u, 1023u, 1024u, 1025u, 2048u, 2049u, 4097u, 3u * 4096u - 100u})
        for (const std::size_t read_at : {0u, 1u, 16u, 64u})
            for (const std::size_t write_at : {0u, 1u, 8u, 16u, 17u, 31u, 32u, 80u}) {
                std::fill_n(to.get(), kPages * kPageBytes, kUntouched);
                copy_bytes(to.get() + write_at, from.get() + read_at, size);
                ASSERT_TRUE(std::equal(to.get() + write_at, to.get() + write_at + size, from.get() + read_at))
                    << size << " bytes from " << read_at << " to " << write_at;
                const auto is_untouched = [](unsigned char byte) { return byte == kUntouched; };
                ASSERT_TRUE(std::all_of(to.get(), to.get() + write_at, is_untouched));
                ASSERT_TRUE(std::all_of(to.get() + write_at + size, to.get() + kPages * kPageBytes, is_untouched));
            }
}

TEST(CopyBytes, AvoidsTheCopyInstructionWhereTheTargetIsJustBehindTheSource) {
    const Pages memory = make_pages(3);
    const unsigned char* const from = memory.get() + kPageBytes;
    for (const std::size_t behind : {1u, 16u, 31u}) {
        EXPECT_TRUE(is_slow_for_copy_instruction(from + behind, from));
        EXPECT_TRUE(is_slow_for_copy_instruction(from + kPageBytes + behind, from));
        EXPECT_TRUE(is_slow_for_copy_instruction(from - kPageBytes + behind, from));
        EXPECT_FALSE(is_slow_for_copy_instruction(from - behind, from));
    }
    for (const std::size_t behind : {0u, 32u, 64u, 2048u, 4064u}) EXPECT_FALSE(is_slow_for_copy_instruction(from + behind, from));
}

}  // namespace
}  // namespace rollcall
