// The worst performance ratio of an algorithm over the patterns that were measured.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "bench/results/competitive_ratio.hpp"

namespace rollcall::bench {
namespace {

constexpr double kUndefinedRatio = std::numeric_limits<double>::quiet_NaN();

Cell ratio_cell(const std::string& algorithm, std::uint64_t bytes, const std::string& pattern, double ratio,
                const std::string& model = "nonblocking") {
    Cell cell{{"broadcast", algorithm, "ucx", 2, bytes, pattern, 3}, {}, {{"model", model}}};
    cell.metrics.push_back({"run_time", Unit::seconds, {1, 1, 1}});
    cell.metrics.push_back({"performance_ratio", Unit::ratio, {ratio, ratio - 1, ratio + 2}});
    cell.metrics.push_back({"pattern_error", Unit::seconds, {0, 0, 0}});
    return cell;
}

TEST(BenchCompetitiveRatio, IsTheWorstOverThePatterns) {
    std::vector<Cell> cells = {ratio_cell("binomial", 8, "balanced", 3),   ratio_cell("linear", 8, "balanced", 50),
                               ratio_cell("binomial", 8, "root_late", 7),  ratio_cell("binomial", 8, "balanced", 90, "blocking"),
                               ratio_cell("binomial", 64, "balanced", 80), ratio_cell("binomial", 8, "one_late", kUndefinedRatio)};
    add_competitive_ratios(cells, true);
    const double expected[] = {7, 50, 7, 90, 80, 7};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        ASSERT_EQ(cells[i].metrics.size(), 4u);
        const Metric& metric = cells[i].metrics[2];
        EXPECT_EQ(metric.name, "competitive_ratio") << "it stands behind performance_ratio";
        EXPECT_EQ(metric.value, (Estimate{expected[i], expected[i] - 1, expected[i] + 2})) << i;
    }
    std::vector<Cell> of_ranks = {ratio_cell("binomial", 8, "balanced", 3), ratio_cell("binomial", 8, "balanced", 4)};
    of_ranks[1].identity.ranks = 4;
    add_competitive_ratios(of_ranks, true);
    EXPECT_EQ(of_ranks[0].metrics[2].value.median, 3) << "more ranks are no other pattern";
    std::vector<Cell> of_landings = {ratio_cell("binomial", 8, "balanced", 3, "eager"), ratio_cell("binomial", 8, "balanced", 4, "eager")};
    of_landings[0].notes.emplace_back("landing", "eager:4Ki");
    of_landings[1].notes.emplace_back("landing", "eager:64Ki");
    add_competitive_ratios(of_landings, true);
    EXPECT_EQ(of_landings[0].metrics[2].value.median, 3) << "another landing is no other pattern";
    std::vector<Cell> undefined = {ratio_cell("binomial", 8, "balanced", kUndefinedRatio)};
    add_competitive_ratios(undefined, true);
    EXPECT_TRUE(std::isnan(undefined[0].metrics[2].value.median));
}

TEST(BenchCompetitiveRatio, CellsOfASizeArePrintedTogether) {
    std::ostringstream out;
    const auto lines = [&] {
        std::vector<nlohmann::json> parsed;
        std::istringstream in(out.str());
        for (std::string line; std::getline(in, line);) parsed.push_back(nlohmann::json::parse(line));
        return parsed;
    };
    CompetitivePrinter printer(out, output::Format::json, true);
    printer.add(ratio_cell("linear", 8, "balanced", 2));
    printer.add(ratio_cell("linear", 8, "root_late", 4));
    EXPECT_EQ(out.str(), "") << "the next pattern might be worse";
    printer.add(ratio_cell("linear", 64, "balanced", 5));
    EXPECT_EQ(lines().size(), 2u);
    printer.flush();
    EXPECT_EQ(lines().size(), 3u) << "the last size does not wait for another one";
    printer.finish();
    const auto all = lines();
    ASSERT_EQ(all.size(), 3u);
    const double expected[] = {4, 4, 5};
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]["competitive_ratio"]["median"], expected[i]) << i;
}

TEST(BenchCompetitiveRatio, IsUnknownIfPatternsAreMissing) {
    for (const bool several_patterns : {true, false}) {
        std::ostringstream out;
        CompetitivePrinter printer(out, output::Format::json, several_patterns);
        printer.add(ratio_cell("linear", 8, "balanced", 2));
        printer.finish(true);
        const nlohmann::json cell = nlohmann::json::parse(out.str());
        EXPECT_EQ(cell["performance_ratio"]["median"], 2.0);
        EXPECT_EQ(cell["competitive_ratio"]["median"].is_null(), several_patterns) << cell;
    }
}

TEST(BenchCompetitiveRatio, OtherCellsArePrintedAsTheyCome) {
    std::ostringstream out;
    CompetitivePrinter printer(out, output::Format::json, true);
    Cell cell{{"gather", "linear", "ucx", 2, 8, "balanced", 3}, {}, {}};
    cell.metrics.push_back({"run_time", Unit::seconds, {1, 1, 1}});
    printer.add(cell);
    EXPECT_NE(out.str(), "");
    EXPECT_EQ(out.str().find("competitive_ratio"), std::string::npos);
    printer.finish();
}

}  // namespace
}  // namespace rollcall::bench
