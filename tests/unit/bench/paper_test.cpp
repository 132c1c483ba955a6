// The paper's tables, and what is put beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "bench/cases/paper.hpp"
#include "bench/options/sweep.hpp"
#include "bench/ranks/operands.hpp"
#include "collectives/catalogue.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

using runtime::OperationKind;

const PaperTable& table(std::string_view name) {
    const auto tables = paper_tables();
    return *std::find_if(tables.begin(), tables.end(), [&](const PaperTable& one) { return one.name == name; });
}

TEST(BenchPaper, TablesCompareAlgorithmsThatThereAre) {
    ASSERT_EQ(paper_tables().size(), 2u);
    EXPECT_EQ(table("table3").operation, OperationKind::scatter);
    EXPECT_EQ(table("table4").operation, OperationKind::gather);
    for (const PaperTable& one : paper_tables())
        for (const std::string_view name : {one.algorithm, one.base})
            EXPECT_EQ(collectives::find_algorithm(one.operation, name).name, name);
}

TEST(BenchPaper, FiguresHaveAlgorithmsAndDelaysThatThereAre) {
    ASSERT_EQ(paper_figures().size(), 4u);
    for (const PaperFigure& figure : paper_figures()) {
        for (const std::string_view name : figure.algorithms) EXPECT_EQ(collectives::find_algorithm(figure.operation, name).name, name);
        EXPECT_EQ(figure.delays.size(), figure.name == "fig10" ? PaperTable::kDelays.size() : 1u);
        EXPECT_EQ(figure.delays.back(), 500'000'000);
    }
}

SweepWords words_of_figure(const char* name) {
    SweepWords words;
    words.paper = name;
    return words;
}

TEST(BenchPaper, AFigureIsScaled) {
    SweepWords words = words_of_figure("fig10");
    const Sweep whole = checked(words, OperationKind::reduce, 4, Ranks::real);
    EXPECT_TRUE(whole.as_in_paper && !whole.paper);
    EXPECT_EQ(whole.sizes, (std::vector<std::uint64_t>{512 << 10, 1 << 20, 2 << 20, 4 << 20}));
    EXPECT_EQ(whole.patterns.size(), 7u);
    EXPECT_EQ(whole.phases->compute, 100'000'000);
    EXPECT_EQ(whole.algorithms.front(), "clairvoyant");
    words.scale = "0.01";
    words.bytes = "1Mi,4Mi";
    words.delays = "0,5";
    const Sweep part = checked(words, OperationKind::allreduce, 4, Ranks::real);
    EXPECT_EQ(part.sizes, (std::vector<std::uint64_t>{10'484, 41'944}));
    EXPECT_EQ(part.patterns.size(), 2u);
    EXPECT_EQ(part.patterns[1].describe(), "uniform:0..50us");
    EXPECT_EQ(part.phases->compute, 1'000'000);
    EXPECT_EQ(scaled_bytes(0, 0.5), 0u);
    EXPECT_EQ(scaled_bytes(4, 0.001), 4u);
    EXPECT_EQ(scaled_time(0, 0.5), 0);
}

TEST(BenchPaper, WrongFiguresAndScalesAreRefused) {
    const auto expect_refused = [](SweepWords words, OperationKind operation, const std::string& allowed) {
        try {
            checked(words, operation, 4, Ranks::real);
            ADD_FAILURE() << "accepted; expected: " << allowed;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(allowed), std::string::npos) << error.what();
        }
    };
    expect_refused(words_of_figure("table3"), OperationKind::reduce, "allowed: fig10,fig11");
    for (const char* const scale : {"0", "-1", "2", "x", "0.5x", ""}) {
        SweepWords words = words_of_figure("fig11");
        words.scale = scale;
        expect_refused(words, OperationKind::reduce, "allowed: a number above 0, up to 1");
    }
    SweepWords words = words_of_figure("fig11");
    words.delays = "5";
    expect_refused(words, OperationKind::reduce, "500ms");
    words = SweepWords();
    words.scale = "0.5";
    expect_refused(words, OperationKind::reduce, "--scale without --paper");
}

/// The run time of the new algorithm that difference and quotient imply: from r_new - r_base = d and r_base / r_new = Q.
double implied(const PaperTable::Entry& entry) { return -entry.difference / (entry.quotient - 1); }

TEST(BenchPaper, DifferenceAndQuotientGiveTheRunTimesOfTheText) {
    const auto& scatter = table("table3").entry(4 << 20, 50 * kMillisecond);
    EXPECT_NEAR(implied(scatter), 57.8, 0.05);
    EXPECT_NEAR(implied(scatter) - scatter.difference, 73.4, 0.05);
    EXPECT_NEAR(-scatter.difference / (implied(scatter) - scatter.difference), 0.21, 0.005) << "section 5.2: up to 21%";
    const auto& largest = table("table3").entry(8 << 20, 50 * kMillisecond);
    EXPECT_NEAR(implied(largest), 91, 1.5) << "section 5.2: BSLN 91 ms";
    EXPECT_NEAR(implied(largest) - largest.difference, 104, 2) << "section 5.2: LIN 104 ms";
    const auto& gather = table("table4").entry(8 << 20, 50 * kMillisecond);
    EXPECT_NEAR(implied(gather), 55.5, 0.05);
    EXPECT_NEAR(implied(gather) - gather.difference, 139.9, 0.05);
    EXPECT_NEAR(-gather.difference / (implied(gather) - gather.difference), 0.60, 0.005) << "section 5.2: up to 60%";
}

TEST(BenchPaper, DifferenceAndQuotientNeverContradictEachOther) {
    for (const PaperTable& one : paper_tables())
        for (const auto& row : one.entries)
            for (std::size_t column = 0; column < row.size(); ++column) {
                const auto& entry = row[column];
                // If the printed difference says that a call is shorter, the printed quotient must say so, too.
                EXPECT_LE(entry.difference * (entry.quotient - 1), 0) << one.name << ' ' << entry.difference;
                // And not shorter than the arrivals are spread, where rounding leaves enough digits to say so: 47/49 of the
                // largest delay, for 48 uniform ones.
                if (std::abs(entry.difference) < 10 || std::abs(entry.quotient - 1) < 0.1) continue;
                EXPECT_GT(implied(entry) * 1e6, 47. / 49 * static_cast<double>(PaperTable::kDelays[column]))
                    << one.name << ' ' << entry.difference;
            }
}

TEST(BenchPaper, OtherSizesAndDelaysAreNotThere) {
    EXPECT_THROW(table("table3").entry(1000, 0), std::out_of_range);
    EXPECT_THROW(table("table3").entry(4 << 20, 7), std::out_of_range);
}

TEST(BenchPaper, ComparisonsAreOfCallsWithTheSameDelays) {
    const auto call = [](std::uint64_t iteration, Nanoseconds exit) { return CallSample{iteration, 0, {0}, {1000}, {1000 + exit}}; };
    // Medians of the pairs: -1 ms and 1.5; the quotient of the medians would be 4/3.
    const std::vector<CallSample> base = {call(0, 3 * kMillisecond), call(1, 40 * kMillisecond), call(2, 4 * kMillisecond)};
    const std::vector<CallSample> improved = {call(0, 2 * kMillisecond), call(1, 20 * kMillisecond), call(2, 3 * kMillisecond)};
    Cell cell = collective_cell({"scatter", "background_sorted_linear", "ucx", 1, 8 << 20, "uniform:0..50ms", 0}, {}, improved);
    compare(cell, table("table3"), improved, base);
    std::vector<std::string> shown;
    std::map<std::string, double> medians;
    for (const Metric& metric : cell.metrics) {
        if (metric.in_table) shown.push_back(metric.name);
        medians[metric.name] = metric.value.median;
    }
    EXPECT_DOUBLE_EQ(medians["base_run_time"], 4e-3);
    EXPECT_DOUBLE_EQ(medians["difference"], -1e-3);
    EXPECT_DOUBLE_EQ(medians["quotient"], 1.5);
    EXPECT_DOUBLE_EQ(medians["paper_difference"], -13.8e-3);
    EXPECT_DOUBLE_EQ(medians["paper_quotient"], 1.15);
    EXPECT_EQ(shown,
              (std::vector<std::string>{"run_time", "base_run_time", "difference", "paper_difference", "quotient", "paper_quotient"}));
    cell.identity.pattern = "uniform:0..7ms";
    EXPECT_THROW(compare(cell, table("table3"), improved, base), std::out_of_range);
}

TEST(BenchPaper, TheSweepIsThatOfTheTable) {
    SweepWords words;
    words.paper = "table4";
    const Sweep all = checked(words, OperationKind::gather, 48, Ranks::simulated);
    EXPECT_EQ(all.sizes, (std::vector<std::uint64_t>{512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20}));
    ASSERT_EQ(all.patterns.size(), 7u);
    EXPECT_EQ(all.patterns.front().describe(), "balanced");
    EXPECT_EQ(all.patterns.back().describe(), "uniform:0..500ms");
    EXPECT_EQ(all.algorithms, (std::vector<std::string>{"linear_synchronized", "background_sorted_linear_synchronized"}));
    ASSERT_TRUE(all.phases);
    EXPECT_EQ(all.phases->compute, 100 * kMillisecond);

    words.bytes = "8Mi,512Ki";
    words.delays = "0,50ms";
    const Sweep some = checked(words, OperationKind::gather, 48, Ranks::simulated);
    EXPECT_EQ(some.sizes, (std::vector<std::uint64_t>{8 << 20, 512 << 10}));
    ASSERT_EQ(some.patterns.size(), 2u);
    EXPECT_EQ(some.patterns.back().describe(), "uniform:0..50ms");

    const auto refused = [](SweepWords wrong, OperationKind operation) {
        EXPECT_THROW(checked(wrong, operation, 48, Ranks::simulated), Error);
    };
    refused(words, OperationKind::scatter);  // its table is another
    SweepWords wrong = words;
    wrong.bytes = "1000";
    refused(wrong, OperationKind::gather);
    wrong = words;
    wrong.delays = "7";
    refused(wrong, OperationKind::gather);
    wrong = words;
    wrong.algorithms = "linear";
    refused(wrong, OperationKind::gather);
    wrong = words;
    wrong.paper.reset();
    refused(wrong, OperationKind::gather);  // delays without a table
}

TEST(BenchOperands, ABlockHasWholeElements) {
    EXPECT_EQ(call_bytes(OperationKind::broadcast, 1001, 8), 1001u);
    EXPECT_EQ(call_bytes(OperationKind::scatter, 1001, 8), 124u);
    EXPECT_EQ(call_bytes(OperationKind::gather, 8 << 20, 48), 174'760u);
    EXPECT_EQ(call_bytes(OperationKind::gather, 31, 8), 0u);
    EXPECT_EQ(call_bytes(OperationKind::intergroup_gather, 31, 8), 31u);
    EXPECT_EQ(call_bytes(OperationKind::intergroup_allreduce, 31, 8), 28u);
}

}  // namespace
}  // namespace rollcall::bench
