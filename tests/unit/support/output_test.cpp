#include "support/output.hpp"

#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/usage.hpp"

namespace rollcall::output {
namespace {

std::string written(Format format, const std::vector<Row>& rows, const std::vector<std::string>& columns = {}) {
    std::ostringstream out;
    Table table(out, format, columns);
    for (const auto& row : rows) table.add(row);
    table.finish();
    return out.str();
}

const std::vector<Row> kRows = {
    {{"name", "linear"}, {"ranks", 8}, {"time", Seconds{12.34e-6}}, {"good", true}, {"ratio", 1.5}, {"note", Value()}},
    {{"name", "say \"hi\", you"}, {"ranks", std::uint64_t{100'000}}, {"time", Seconds{0.5}}, {"good", false}, {"ratio", 0.1}}};

TEST(Text, IsAlignedWithoutEmptyColumns) {
    EXPECT_EQ(written(Format::text, kRows),
              "name            ranks     time  good  ratio\n"
              "linear              8  12.3 us  yes     1.5\n"
              "say \"hi\", you  100000   500 ms  no      0.1\n");
}

TEST(Text, CountsCharactersNotBytes) {
    EXPECT_EQ(written(Format::text, {{{"a", "\u00b5s"}, {"b", "x"}}, {{"a", "ns"}, {"b", "y"}}}), "a   b\n\u00b5s  x\nns  y\n");
}

TEST(Text, IsBrokenAtBlanksWhereLinesAreTooLong) {
    const auto broken = [](std::size_t columns, const std::string& summary) {
        std::ostringstream out;
        Table table(out, Format::text);
        table.break_after(columns);
        table.add({{"name", "linear"}, {"ranks", 8}, {"summary", summary}});
        table.add({{"name", "tree"}, {"ranks", 16}, {"summary", ""}});
        table.finish();
        return out.str();
    };
    const std::string text = "the root sends to each rank in turn, one after the other";
    EXPECT_EQ(broken(40, text),
              "name    ranks  summary\n"
              "linear      8  the root sends to each\n"
              "               rank in turn, one after\n"
              "               the other\n"
              "tree       16\n");
    EXPECT_EQ(broken(30, text),
              "name    ranks  summary\n"
              "linear      8  the root sends\n"
              "               to each rank in\n"
              "               turn, one after\n"
              "               the other\n"
              "tree       16\n")
        << "a column is made narrower than 24 where the lines would not fit otherwise";
    EXPECT_EQ(broken(71, text), "name    ranks  summary\nlinear      8  " + text + "\ntree       16\n") << "it fits";
    const std::string word(30, 'x');
    EXPECT_EQ(broken(10, "a " + word + " b"),
              "name    ranks  summary\nlinear      8  a\n               " + word + "\n               b\ntree       16\n");
}

TEST(Csv, QuotesWhatItMust) {
    EXPECT_EQ(written(Format::csv, kRows),
              "name,ranks,time,good,ratio,note\n"
              "linear,8,1.234e-05,true,1.5,\n"
              "\"say \"\"hi\"\", you\",100000,0.5,false,0.1,\n");
    EXPECT_EQ(written(Format::csv, {{{"a,b", "line\nbreak"}, {"c", "\r"}, {"d", " plain "}}}),
              "\"a,b\",c,d\n\"line\nbreak\",\"\r\", plain \n");
}

TEST(Json, IsOneObjectPerLineInTheOrderOfTheColumns) {
    EXPECT_EQ(written(Format::json, kRows), R"({"name":"linear","ranks":8,"time":1.234e-05,"good":true,"ratio":1.5,"note":null})"
                                            "\n"
                                            R"({"name":"say \"hi\", you","ranks":100000,"time":0.5,"good":false,"ratio":0.1})"
                                            "\n");
    EXPECT_EQ(written(Format::json, {{{"a", "bad \xff byte"}, {"b", -1}, {"c", std::numeric_limits<std::uint64_t>::max()}}}),
              "{\"a\":\"bad \xef\xbf\xbd byte\",\"b\":-1,\"c\":18446744073709551615}\n");
}

TEST(Interval, HasThreeValuesInEveryFormat) {
    const std::vector<Row> rows = {{{"n", 1}, {"time", Interval{2e-6, 1e-6, 3e-6}}}, {{"n", 2}}};
    EXPECT_EQ(written(Format::text, rows), "n                        time\n1  2.00 us [1.00 us, 3.00 us]\n2\n");
    EXPECT_EQ(written(Format::csv, rows), "n,time_median,time_low,time_high\n1,2e-06,1e-06,3e-06\n2,,,\n");
    EXPECT_EQ(written(Format::json, rows), "{\"n\":1,\"time\":{\"median\":2e-06,\"low\":1e-06,\"high\":3e-06}}\n{\"n\":2}\n");
    EXPECT_THROW(written(Format::csv, {{{"t", 1.0}}, {{"t", Interval{}}}}), std::invalid_argument);
}

TEST(Bytes, AreShortForPeopleAndNumbersForPrograms) {
    const auto text = [](std::uint64_t bytes) { return written(Format::text, {{{"b", Bytes{bytes}}}}, {"b"}); };
    EXPECT_EQ(text(8 << 20), "  b\n8Mi\n");
    EXPECT_EQ(text(100'001), "     b\n100001\n");
    EXPECT_EQ(text(24'684'092ull << 10), "     b\n23.5Gi\n");
    EXPECT_EQ(text((1ull << 30) - 1), "    b\n1.0Gi\n");
    EXPECT_EQ(written(Format::csv, {{{"b", Bytes{8 << 20}}}}), "b\n8388608\n");
    EXPECT_EQ(written(Format::json, {{{"b", Bytes{8 << 20}}}}), "{\"b\":8388608}\n");
}

TEST(Numbers, ThatAreNoneAreEmptyOrNull) {
    const std::vector<Row> rows = {{{"a", std::numeric_limits<double>::quiet_NaN()}, {"b", std::numeric_limits<double>::infinity()}}};
    EXPECT_EQ(written(Format::text, rows), "a  b\n-  -\n");
    EXPECT_EQ(written(Format::csv, rows), "a,b\n,\n");
    EXPECT_EQ(written(Format::json, rows), "{\"a\":null,\"b\":null}\n");
}

TEST(Columns, AreThoseGivenOrThoseOfTheFirstRow) {
    EXPECT_EQ(written(Format::csv, {{{"b", 2}}, {{"c", 3}, {"a", 1}}}, {"a", "b", "c"}), "a,b,c\n,2,\n1,,3\n");
    EXPECT_EQ(written(Format::csv, {}, {"a", "b"}), "a,b\n");
    EXPECT_EQ(written(Format::text, {}, {"a", "b"}), "");
    EXPECT_EQ(written(Format::json, {}, {"a", "b"}), "");
    for (const auto format : {Format::text, Format::csv, Format::json}) {
        EXPECT_THROW(written(format, {{{"a", 1}}, {{"b", 2}}}), std::invalid_argument);
    }
}

TEST(Rows, AreWrittenAtOnceButText) {
    for (const auto format : {Format::text, Format::csv, Format::json}) {
        std::ostringstream out;
        {
            Table table(out, format);
            table.add({{"a", 1}});
            EXPECT_EQ(out.str().empty(), format == Format::text);
        }
        EXPECT_FALSE(out.str().empty());  // the destructor writes the rest
    }
}

TEST(FormatOption, TakesThreeWordsAndListsThem) {
    const auto parsed = [](std::vector<std::string> words) {
        usage::Command command("", "");
        Format format = Format::text;
        add_format_option(command, format);
        command.parse(std::move(words));
        return format;
    };
    EXPECT_EQ(parsed({}), Format::text);
    EXPECT_EQ(parsed({"--format", "text"}), Format::text);
    EXPECT_EQ(parsed({"--format=csv"}), Format::csv);
    EXPECT_EQ(parsed({"--format", "json"}), Format::json);
    try {
        parsed({"--format", "xml"});
        ADD_FAILURE();
    } catch (const usage::WrongUsage& error) {
        EXPECT_STREQ(error.what(), "--format: 'xml' is not a format; allowed: text, csv, json");
    }
}

TEST(FormatOption, ReadsWellInTheHelp) {
    ::setenv("COLUMNS", "100", 1);  // help is broken at the width of the terminal
    usage::Command command("", "");
    Format format = Format::csv;
    add_format_option(command, format);
    EXPECT_NE(command.help().find("  --format text|csv|json        How results are printed (default: csv)\n"), std::string::npos)
        << command.help();
    ::unsetenv("COLUMNS");
}

}  // namespace
}  // namespace rollcall::output
