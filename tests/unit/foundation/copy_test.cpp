#include "foundation/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace rollcall {
namespace {

constexpr std::size_t kPage = 4096;

struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
};
using PageMemory = std::unique_ptr<unsigned char[], Free>;

PageMemory pages(std::size_t number) { return PageMemory(static_cast<unsigned char*>(std::aligned_alloc(kPage, number * kPage))); }

TEST(CopyBytes, CopiesEachByteWhereverTheBuffersBegin) {
    constexpr std::size_t kPages = 4;
    const PageMemory from = pages(kPages), to = pages(kPages);
    for (std::size_t i = 0; i < kPages * kPage; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
    constexpr unsigned char kUntouched = 0xee;
    for (const std::size_t size : {0u, 1u, 7u, 1023u, 1024u, 1025u, 2048u, 2049u, 4097u, 3u * 4096u - 100u})
        for (const std::size_t read_at : {0u, 1u, 16u, 64u})
            for (const std::size_t write_at : {0u, 1u, 8u, 16u, 17u, 31u, 32u, 80u}) {
                std::fill_n(to.get(), kPages * kPage, kUntouched);
                copy_bytes(to.get() + write_at, from.get() + read_at, size);
                ASSERT_TRUE(std::equal(to.get() + write_at, to.get() + write_at + size, from.get() + read_at))
                    << size << " bytes from " << read_at << " to " << write_at;
                const auto is_untouched = [](unsigned char byte) { return byte == kUntouched; };
                ASSERT_TRUE(std::all_of(to.get(), to.get() + write_at, is_untouched));
                ASSERT_TRUE(std::all_of(to.get() + write_at + size, to.get() + kPages * kPage, is_untouched));
            }
}

TEST(CopyBytes, AvoidsTheCopyInstructionWhereTheTargetIsJustBehindTheSource) {
    const PageMemory memory = pages(3);
    const unsigned char* const from = memory.get() + kPage;
    for (const std::size_t behind : {1u, 16u, 31u}) {
        EXPECT_TRUE(is_slow_for_copy_instruction(from + behind, from));
        EXPECT_TRUE(is_slow_for_copy_instruction(from + kPage + behind, from));
        EXPECT_TRUE(is_slow_for_copy_instruction(from - kPage + behind, from));
        EXPECT_FALSE(is_slow_for_copy_instruction(from - behind, from));
    }
    for (const std::size_t behind : {0u, 32u, 64u, 2048u, 4064u}) EXPECT_FALSE(is_slow_for_copy_instruction(from + behind, from));
}

}  // namespace
}  // namespace rollcall
