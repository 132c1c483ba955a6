// Result cells: from raw samples to text, csv and json.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <rollcall/error.hpp>
#include <sstream>

#include "bench/results/cell.hpp"

#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

using output::Format;

const CellIdentity kIdentity{"broadcast", "binomial", "ucx", 2, 65'536, "last:1:10ms", 0};
const CallSetup kSetup{0, kMillisecond, Model::nonblocking};

/// Rank 1 is 10 ms late and leaves after 1 ms; rank 0 leaves after 11 ms and some.
CallSample call(std::uint64_t iteration, Nanoseconds more) {
    constexpr Nanoseconds start = 77'000'000'000;
    return {iteration,
            start,
            {0, 10 * kMillisecond},
            {start, start + 10 * kMillisecond},
            {start + 11 * kMillisecond + more, start + 11 * kMillisecond}};
}

Cell example(std::string algorithm = "binomial") {
    CellIdentity identity = kIdentity;
    identity.algorithm = std::move(algorithm);
    // 7 calls: the interval goes from the smallest sample to the largest.
    std::vector<CallSample> samples;
    for (const Nanoseconds more : {3, 1, 2, 7, 5, 4, 6}) samples.push_back(call(samples.size(), more * kMillisecond));
    return collective_cell(identity, kSetup, samples);
}

std::string printed(Format format, const std::vector<Cell>& cells, std::size_t columns = 100) {
    std::ostringstream out;
    CellPrinter printer(out, format, columns);
    for (const Cell& cell : cells) printer.add(cell);
    printer.finish();
    return out.str();
}

// Jobs of several rounds measure T anew.
TEST(BenchCell, EachCallHasTheMessageTimeOfItsJob) {
    std::vector<CallSample> samples = {call(0, 0), call(1, 0), call(2, 0)};
    samples[1].message_time = samples[2].message_time = 2 * kMillisecond;
    const Cell cell = collective_cell(kIdentity, kSetup, samples);
    const auto value = [&](const char* name) {
        return std::ranges::find_if(cell.metrics, [&](const Metric& one) { return one.name == name; })->value;
    };
    EXPECT_EQ(value("imbalance_factor"), (Estimate{5, 5, 10})) << "10 ms in units of 2 ms, and of 1 ms in the first job";
    EXPECT_EQ(value("message_time"), (Estimate{2e-3, 1e-3, 2e-3}));
}

TEST(BenchCell, TheBoundIsOfBroadcastsOnly) {
    CellIdentity identity = kIdentity;
    identity.operation = "gather";
    const std::vector<CallSample> samples = {call(0, 0)};
    const Cell cell = collective_cell(identity, kSetup, samples);
    for (const Metric& metric : cell.metrics) {
        EXPECT_NE(metric.name, "performance_ratio");
        EXPECT_NE(metric.name, "lower_bound");
    }
    EXPECT_EQ(cell.metrics.size(), 12u);
}

TEST(BenchCell, PredictionErrorIsTheMedianOverRanksAndCalls) {
    const auto sample = [](std::vector<Nanoseconds> arrivals, std::vector<Nanoseconds> predicted) {
        CallSample made;
        made.arrivals = std::move(arrivals);
        made.predicted = std::move(predicted);
        return made;
    };
    // Errors of 1, 5 and 2 ms, the last too early; a rank that predicted nothing; no prediction at all.
    const CallSample first = sample({0, 0, 9'000'000, 4}, {1'000'000, 5'000'000, 7'000'000, kNoTime});
    EXPECT_DOUBLE_EQ(prediction_error(std::vector{first}).value.median, 2e-3);
    EXPECT_DOUBLE_EQ(prediction_error(std::vector{first, first, sample({0}, {8'000'000})}).value.high, 8e-3);
    const CallSample none = sample({0, 1}, {kNoTime, kNoTime});
    EXPECT_DOUBLE_EQ(prediction_error(std::vector{none, first, none}).value.high, 2e-3) << "calls without a prediction do not count";
    EXPECT_EQ(unpredicted_calls(std::vector{none, first, none, sample({0}, {})}), 3u);
    EXPECT_EQ(unpredicted_calls(std::vector{first}), 0u);
    EXPECT_TRUE(std::isnan(prediction_error(std::vector{none, none}).value.median));
}

TEST(BenchCell, ComparesWithCallsOfTheSameIteration) {
    // The mean elapsed times are (12 + more) / 2 ms.
    const std::vector<CallSample> first = {call(0, 0), call(1, 12 * kMillisecond), call(2, 0), call(7, 0)};
    const std::vector<CallSample> calls = {call(2, 12 * kMillisecond), call(1, 12 * kMillisecond), call(0, 36 * kMillisecond), call(9, 0)};
    const ElapsedTimes times = elapsed_times(first, kSetup);
    const std::vector<Metric> compared = comparisons(elapsed_times(calls, kSetup), times);
    EXPECT_EQ(compared[0].name, "over_first");
    EXPECT_EQ(compared[0].value, (Estimate{2, 1, 4}));
    EXPECT_EQ(compared[1].name, "elapsed_over_first");
    EXPECT_DOUBLE_EQ(compared[1].value.median, (12.0 + 12 + 24) / (6 + 12 + 6));
    for (const Metric& metric : comparisons(times, times)) EXPECT_EQ(metric.value, (Estimate{1, 1, 1}));
    for (const Metric& metric : comparisons(elapsed_times(std::vector{call(3, 0)}, kSetup), times))
        EXPECT_TRUE(std::isnan(metric.value.median));
}

TEST(BenchCell, CollectiveCellHasMediansOfEveryMeasure) {
    const Cell cell = example();
    EXPECT_EQ(cell.identity.iterations, 7u);
    std::vector<std::string> names;
    for (const Metric& metric : cell.metrics) names.push_back(metric.name);
    EXPECT_EQ(names, (std::vector<std::string>{"run_time", "mean_elapsed", "worst_elapsed", "last_delay", "elapsed", "spread",
                                               "imbalance_factor", "performance_ratio", "pattern_error", "mean_deviation",
                                               "average_imbalance_factor", "lower_bound", "pattern_error_rms", "message_time"}));
    const auto expect = [&](std::size_t i, double median, double low, double high) {
        EXPECT_DOUBLE_EQ(cell.metrics[i].value.median, median) << names[i];
        EXPECT_DOUBLE_EQ(cell.metrics[i].value.low, low) << names[i];
        EXPECT_DOUBLE_EQ(cell.metrics[i].value.high, high) << names[i];
    };
    expect(0, 0.015, 0.012, 0.018);
    expect(1, 0.008, 0.0065, 0.0095);  // (11 + more + 1) / 2
    expect(3, 0.005, 0.002, 0.008);
    EXPECT_DOUBLE_EQ(cell.metrics[4].value.median, 0.008);
    EXPECT_NEAR(cell.metrics[4].value.low, 0.008 - 0.001, 1e-5);  // 2.447 * 1.0801 ms / sqrt(7)
    expect(5, 0.010, 0.010, 0.010);
    expect(6, 10, 10, 10);
    expect(7, 16, 13, 19);  // the bound is T/2
    expect(8, 0, 0, 0);
    expect(13, 0.001, 0.001, 0.001);
}

TEST(BenchCell, JsonIsOneObjectPerCellAndLineWithTheAgreedKeys) {
    std::istringstream lines(printed(Format::json, {example(), example("linear")}));
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    const auto object = nlohmann::ordered_json::parse(line);
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    keys.resize(11);
    EXPECT_EQ(keys, (std::vector<std::string>{"operation", "algorithm", "transport", "ranks", "bytes", "pattern", "iterations", "run_time",
                                              "mean_elapsed", "worst_elapsed", "last_delay"}));
    EXPECT_EQ(object["operation"], "broadcast");
    EXPECT_EQ(object["ranks"], 2);
    EXPECT_EQ(object["bytes"], 65'536);
    EXPECT_EQ(object["pattern"], "last:1:10ms");
    EXPECT_EQ(object["iterations"], 7);
    EXPECT_EQ(object["run_time"], (nlohmann::ordered_json{{"median", 0.015}, {"low", 0.012}, {"high", 0.018}}));
    EXPECT_DOUBLE_EQ(object["elapsed"]["mean"], 0.008);
    EXPECT_EQ(object["model"], "nonblocking");
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(nlohmann::json::parse(line)["algorithm"], "linear");
    EXPECT_FALSE(std::getline(lines, line));
}

TEST(BenchCell, JsonAndCsvAreWrittenAsTheCellsCome) {
    for (const Format format : {Format::json, Format::csv}) {
        std::ostringstream out;
        CellPrinter printer(out, format);
        printer.add(example());
        EXPECT_EQ(out.str(), printed(format, {example()}));
    }
}

TEST(BenchCell, CsvHasThreeColumnsPerMetric) {
    Cell cell{{"pingpong", "send_receive", "ucx", 2, 8, "balanced", 3}, {}, {{"checked", "yes"}}};
    const std::vector<double> samples{2e-6, 1e-6, 4e-6};
    cell.metrics.push_back(metric("latency", Unit::seconds, samples));
    cell.metrics.push_back({"ratio", Unit::ratio, {std::numeric_limits<double>::quiet_NaN(), 1, 2}, false});
    EXPECT_EQ(printed(Format::csv, {cell}),
              "operation,algorithm,transport,ranks,bytes,pattern,iterations,latency_median,latency_low,latency_high,"
              "ratio_median,"
              "ratio_low,ratio_high,checked\n"
              "pingpong,send_receive,ucx,2,8,balanced,3,2e-06,1e-06,4e-06,,1,2,yes\n");
}

TEST(BenchCell, TextIsATableUnderWhatAllRowsShare) {
    Cell one{{"pingpong", "tagged", "ucx", 2, 8, "balanced", 3}, {}, {}};
    one.metrics.push_back({"latency", Unit::seconds, {2e-6, 1.9e-6, 2.2e-6}});
    one.metrics.push_back({"rate", Unit::bytes_per_second, {4e6, 4e6, 4e6}});
    one.metrics.push_back({"hidden", Unit::ratio, {1, 1, 1}, false});
    Cell two = one;
    two.identity.bytes = 8 << 20;
    two.metrics[0].value = {0.001, 0.001, 0.02};
    two.metrics[1].value = {std::numeric_limits<double>::quiet_NaN(), 0, 0};
    EXPECT_EQ(printed(Format::text, {one, two}),
              "operation: pingpong, transport: ucx, ranks: 2, iterations: 3\n"
              "algorithm  bytes  pattern   latency                     rate\n"
              "tagged     8      balanced  2.00 us ±10%                4 MB/s\n"
              "tagged     8Mi    balanced  1.00 ms [1.00 ms, 20.0 ms]  -\n");
    two.metrics[0].value = {0.1, 0.1, 0.1 + 1e-12};
    EXPECT_TRUE(mentions(printed(Format::text, {two}), "100 ms   -\n")) << "rounding made the interval: " << printed(Format::text, {two});
    two.identity.ranks = 4;
    EXPECT_EQ(printed(Format::text, {one, two}).substr(0, 50), "operation: pingpong, transport: ucx, iterations: 3");
    EXPECT_EQ(printed(Format::text, {}), "");
}

TEST(BenchCell, LandingsOfOneModelAreTold) {
    const CallSetup setup{0, kMillisecond, Model::eager, "eager:4Ki"}, other{0, kMillisecond, Model::eager, "eager:64Ki"};
    const std::vector<CallSample> calls = {call(0, 0)};
    const CellIdentity identity = example().identity;
    const std::string text = printed(Format::text, {collective_cell(identity, setup, calls), collective_cell(identity, other, calls)}, 400);
    for (const char* part : {"model: eager", "eager:4Ki", "eager:64Ki"}) EXPECT_TRUE(mentions(text, part)) << text;
    EXPECT_FALSE(mentions(printed(Format::csv, {example()}), "landing")) << "there is one";
}

TEST(BenchCell, TextFitsTheScreen) {
    const std::vector<Cell> cells = {example(), example("linear")};
    const auto characters = [](const std::string& line) {
        return std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    };
    const std::string left_out = "columns not shown (use --format csv or json): imbalance_factor";
    for (const std::size_t columns : {80, 100, 120, 200}) {
        const std::string text = printed(Format::text, cells, columns);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("algorithm")) {
                EXPECT_TRUE(mentions(line, "mean_elapsed")) << line;
            }
            EXPECT_LE(characters(line), static_cast<std::ptrdiff_t>(columns)) << line;
        }
        EXPECT_EQ(text.find(left_out) != std::string::npos, columns < 200) << text;
    }
    EXPECT_EQ(printed(Format::csv, cells, 40), printed(Format::csv, cells, 200));
    // Where there is no mean_elapsed, run_time is what was measured.
    const Estimate time{1e-3, 1e-3, 2e-3};
    const Cell loop{{"loop", "decoupled", "ucx", 2, 8, "uniform:0..1ms", 3},
                    {{"run_time", Unit::seconds, time}, {"limit", Unit::seconds, time}, {"lost", Unit::seconds, time}}};
    const std::string narrow = printed(Format::text, {loop}, 60);
    EXPECT_TRUE(mentions(narrow, "1.00 ms ±100%  1.00 ms ±100%\n")) << narrow;
    EXPECT_TRUE(mentions(narrow, "json): lost")) << narrow;
    // What the algorithm's name tells goes first. What it does not tell stays.
    std::vector<Cell> peers = cells;
    peers[1].identity.transport = "its own";
    EXPECT_TRUE(mentions(printed(Format::text, peers, 100), "json): transport, imbalance_factor"));
    peers[1].identity.algorithm = peers[0].identity.algorithm;
    EXPECT_TRUE(mentions(printed(Format::text, peers, 100), "its own    binomial"));
}

TEST(BenchCell, WrongSamples) {
    EXPECT_THROW(collective_cell(kIdentity, kSetup, {}), Error);
    CallSample sample = call(0, 0);
    sample.exits.pop_back();
    EXPECT_THROW(collective_cell(kIdentity, kSetup, std::vector{sample}), Error);
}

}  // namespace
}  // namespace rollcall::bench
