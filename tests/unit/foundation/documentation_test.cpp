// Pages of the documentation that list what the code has.
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "foundation/settings.hpp"

namespace rollcall {
namespace {

std::string page(const char* name) {
    std::ifstream file(std::string(ROLLCALL_TEST_SOURCE) + "/docs/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// True for "auto, always, no". Other settings have a sentence that says what is allowed.
bool is_list_of_words(const std::string& allowed) {
    for (std::size_t at = 0; (at = allowed.find(' ', at)) != std::string::npos; ++at)
        if (allowed[at - 1] != ',') return false;
    return allowed.find(',') != std::string::npos;
}

/// "64 or more" of a sentence that says what is allowed. Empty: there is no limit, or every value is above it.
std::string limit_of(const std::string& allowed) {
    std::smatch limit;
    return std::regex_search(allowed, limit, std::regex("[1-9][0-9]*[A-Za-z]* or (less|more)")) ? limit.str() : "";
}

TEST(Documentation, HasEverySettingWithItsDefaultMeaningAndValues) {
    const std::string settings = page("settings.md");
    ASSERT_FALSE(settings.empty());
    std::size_t rows = 0;
    const auto expect_row = [&](const std::string& wanted) {
        EXPECT_NE(settings.find(wanted), std::string::npos) << "docs/settings.md lacks this row:\n" << wanted;
        ++rows;
    };
    for (const SettingRow& row : describe(Settings())) {
        const std::string value = row.value.empty() ? "empty" : "`" + row.value + "`";
        expect_row(fmt::format("| `{}` | {} | {} |\n", row.variable, value, row.meaning));
        if (is_list_of_words(row.allowed)) expect_row(fmt::format("| `{}` | {} |\n", row.variable, row.allowed));
        if (const std::string limit = limit_of(row.allowed); !limit.empty())
            expect_row(fmt::format("| `{}` | {} |\n", row.variable, limit));
    }
    std::size_t found = 0;
    for (std::size_t at = 0; (at = settings.find("| `ROLLCALL_", at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(found, rows) << "docs/settings.md has rows of settings that are no more";
}

TEST(Documentation, HasEveryKindOfError) {
    const std::string errors = page("errors.md");
    for (int code = 0; code <= static_cast<int>(ErrorCode::state); ++code)
        EXPECT_NE(errors.find(fmt::format("| `{}` |", name(static_cast<ErrorCode>(code)))), std::string::npos)
            << name(static_cast<ErrorCode>(code));
}

}  // namespace
}  // namespace rollcall
