// How texts are cut, and what the numbers in errno mean.
#include "foundation/text.hpp"

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "foundation/error_text.hpp"

namespace rollcall {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Text, IsTrimmedAtItsEndsOnly) {
    EXPECT_EQ(trimmed(" \t a b\r\n"), "a b\r\n");
    EXPECT_EQ(trimmed("a b\r\v\f "), "a b");
    EXPECT_EQ(trimmed(" \t "), "");
    EXPECT_EQ(trimmed(""), "");
    EXPECT_EQ(trimmed("\t a ", " "), "\t a");
}

TEST(Text, HasOnePartMoreThanItHasCommas) {
    EXPECT_EQ(split_at_commas("a,b c,d"), (Parts{"a", "b c", "d"}));
    EXPECT_EQ(split_at_commas(",a,,"), (Parts{"", "a", "", ""}));
    EXPECT_EQ(split_at_commas(""), (Parts{""}));
}

TEST(ErrorText, NamesTheError) {
    EXPECT_EQ(error_text(ENOENT), "No such file or directory");
    EXPECT_NE(error_text(99999).find("99999"), std::string::npos);
}

}  // namespace
}  // namespace rollcall
