// Plots: the script gnuplot is given, the child process that draws it, and what is said when it cannot.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <rollcall/error.hpp>
#include <sstream>

#include "bench/commands/pictures.hpp"
#include "bench/plots/plot.hpp"
#include "bench/ranks/child.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

LineChart lines(std::vector<std::pair<double, double>> points) {
    LineChart chart{"broadcast, 8 ranks", {"imbalance factor"}, {"mean elapsed time", true}, {{"binomial", {}}}};
    for (const auto& [x, y] : points) chart.series[0].points.push_back({x, {y, 0.9 * y, 1.1 * y}});
    return chart;
}

const LineChart kLines = lines({{1, 0.004}, {0, 0.002}, {4, 0.010}});
const GanttChart kGantt{"one call", {{"0 (root)", 1'000, 9'000, {{1'000, 8'000}}}, {"1", 6'000, 7'000, {{2'000, 3'000}}}}};

template <class Function>
std::string failure(Function function) {
    try {
        function();
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// A folder that is gone at the end of the test.
class BenchPlot : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directory(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string program(std::string_view text) {
        const auto path = folder_ / "gnuplot";
        std::ofstream(path) << "#!/bin/sh\n" << text;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path.string();
    }
    std::string picture() {
        std::ifstream file(svg_);
        return (std::ostringstream() << file.rdbuf()).str();
    }

    const std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("rollcall_plot_" + std::to_string(::getpid()));
    const std::filesystem::path svg_ = folder_ / "out.svg";
};

TEST(BenchPlotScript, TimesAreInAUnitThatSuitsThemAndPointsInOrder) {
    const std::string script = gnuplot_script({kLines});
    EXPECT_TRUE(mentions(script, "set ylabel 'mean elapsed time [ms]'")) << script;
    EXPECT_TRUE(mentions(script, "set xlabel 'imbalance factor'"));
    EXPECT_TRUE(mentions(script, "$line0 << EOD\n0 2 1.8 2.2\n1 4 3.6 4.4\n4 10 9 11\nEOD\n"));
    EXPECT_TRUE(mentions(script, "title 'binomial'"));
    EXPECT_FALSE(mentions(script, "\nset logscale"));
    EXPECT_FALSE(mentions(script, "$wait"));
}

TEST(BenchPlotScript, WideRangesAreLogarithmicWithZeroAtTheLeft) {
    const std::string script = gnuplot_script({lines({{0, 0.001}, {3, 0.010}, {300, 0.100}})});
    EXPECT_TRUE(mentions(script, "\nset logscale x")) << script;
    EXPECT_TRUE(mentions(script, "\nset logscale y"));
    EXPECT_TRUE(mentions(script, "set xtics ('0' 1, '2' 2, '5' 5, '10' 10")) << "0 stands where 1 would be";
    EXPECT_TRUE(mentions(script, "$line0 << EOD\n1 1 0.9 1.1\n3 10 9 11\n300 100 90 110\nEOD"));
    EXPECT_FALSE(mentions(gnuplot_script({lines({{0, 0}, {1, 0.001}, {2, 0.100}})}), "\nset logscale"))
        << "a time of 0 has no place on a logarithmic axis";
}

TEST(BenchPlotScript, PointsThatAreNotFiniteAreLeftOut) {
    LineChart chart = kLines;
    chart.series[0].points[1].y.low = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(mentions(gnuplot_script({chart}), "$line0 << EOD\n1 4 3.6 4.4\n4 10 9 11\nEOD"));
    chart.series.clear();
    EXPECT_TRUE(mentions(failure([&] { gnuplot_script({chart}); }), "nothing to draw"));
}

TEST(BenchPlotScript, SeriesOfOnePointStandSideBySide) {
    LineChart chart = lines({{18.6, 0.004}});
    chart.series.push_back({"linear", {{18.9, {0.006, 0.005, 0.007}}}});
    const std::string script = gnuplot_script({chart});
    EXPECT_TRUE(mentions(script, "set xlabel 'imbalance factor: 18.6 to 18.9'")) << script;
    chart.x.label = "";
    EXPECT_TRUE(mentions(gnuplot_script({chart}), "set xlabel ''\n")) << "bars without an axis";
    EXPECT_TRUE(mentions(script, "$line1 << EOD\n0 6 5 7\n"));
    EXPECT_TRUE(mentions(script, "$line0 << EOD\n1 4 3.6 4.4\n"));
    EXPECT_TRUE(mentions(script, "yerrorbars"));
}

TEST(BenchPlotScript, NamesCannotBecomeCommands) {
    LineChart chart = kLines;
    chart.series[0].name = "it's\n`reboot`";
    chart.title = "'; system('reboot')";
    const std::string script = gnuplot_script({chart});
    EXPECT_TRUE(mentions(script, "title 'it''s `reboot`'")) << script;
    EXPECT_TRUE(mentions(script, "set title '''; system(''reboot'')'"));
}

TEST(BenchPlotScript, LongNamesWidenThePictureAndNotTheirOwnSpace) {
    EXPECT_TRUE(mentions(gnuplot_script({kLines, kGantt}), "noenhanced size 1000,"));
    LineChart chart = kLines;
    chart.series[0].name = "background_sorted_linear_synchronized (nonblocking)";
    EXPECT_TRUE(mentions(gnuplot_script({chart, kGantt}), fmt::format("noenhanced size {},", 115 + 640 + 60 + 8 * 51)));
}

TEST(BenchPlotScript, GanttRowsBeginWithTheEarliestEvent) {
    const std::string script = gnuplot_script({kGantt});
    EXPECT_TRUE(mentions(script, "time since the first event [µs]")) << script;
    EXPECT_TRUE(mentions(script, "('0 (root)' 0, '1' 1)"));
    EXPECT_TRUE(mentions(script, "$wait << EOD\n0 0 0 8 -0.36 0.36\n5 1 5 6 0.64 1.36\nEOD"));
    EXPECT_TRUE(mentions(script, "$transfer << EOD\n0 0 0 7 -0.36 0.36\n1 1 1 2 0.64 1.36\nEOD")) << "before the arrival too";
    EXPECT_TRUE(mentions(failure([] { gnuplot_script({GanttChart{}}); }), "nothing to draw"));
    EXPECT_TRUE(mentions(failure([] { gnuplot_script({}); }), "nothing to draw"));
}

TEST(BenchPlotScript, TheNameSaysTheType) {
    EXPECT_EQ(picture_type("a/b.svg"), PictureType::svg);
    EXPECT_EQ(picture_type("b.png"), PictureType::png);
    EXPECT_EQ(picture_type("b.svg.pdf"), PictureType::pdf);
    for (const char* name : {"b.jpg", "svg", "b.svg/c", ""})
        EXPECT_TRUE(mentions(failure([&] { picture_type(name); }), ".svg, .png or .pdf")) << name;
    EXPECT_TRUE(mentions(gnuplot_script({kLines}, PictureType::png), "set terminal pngcairo noenhanced size 1000,540 "));
    EXPECT_TRUE(mentions(gnuplot_script({kLines}, PictureType::pdf), "set terminal pdfcairo noenhanced size 10.4167in,5.625in "));
}

TEST(BenchPlotScript, SizesAreMarkedWhereTheyAre) {
    LineChart chart = lines({{0, 0.001}, {8, 0.001}, {65536, 0.003}});
    chart.x.marks = {{"0", 0}, {"8", 8}, {"64Ki", 65536}};
    const std::string script = gnuplot_script({chart});
    EXPECT_TRUE(mentions(script, "set logscale x\nset xtics ('0' 2.666666667, '8' 8, '64Ki' 65536)\n")) << script;
}

TEST(BenchPlotScript, CallsShareTheirTimeAxis) {
    GanttChart longer = kGantt;
    longer.rows[1].exit = 21'000;
    Picture charts = {kLines, kGantt, longer};
    share_time_axis(charts);
    for (const std::size_t i : {1, 2}) EXPECT_EQ(std::get<GanttChart>(charts[i]).span, 20'000);
    const std::string script = gnuplot_script({charts[1]});
    EXPECT_TRUE(mentions(script, ":20.3]\nset xtics")) << script;
}

TEST(BenchPictures, ARootThatCollectsWaitsWhileNothingMoves) {
    Measured measured;
    measured.identity = {"gather", "linear", "ucx", 4, 8, "balanced", 1};
    measured.setup = {.root = 0, .message_time = 10};
    // Ranks 1 and 2 come together with the root, and rank 3 much later.
    CallSample call{.iteration = 0, .start = 0, .asked = {}, .arrivals = {0, 1, 5, 100}, .exits = {110, 3, 7, 102}};
    call.first_data = {2, kNoTime, kNoTime, kNoTime};
    const auto transfers = gantt_of(measured, call).rows[0].transfers;
    ASSERT_EQ(transfers.size(), 2u);
    EXPECT_EQ(std::pair(transfers[0].begin, transfers[0].end), std::pair(Nanoseconds{2}, Nanoseconds{15}));
    EXPECT_EQ(std::pair(transfers[1].begin, transfers[1].end), std::pair(Nanoseconds{100}, Nanoseconds{110}));
    EXPECT_TRUE(gantt_of(measured, call).rows[1].transfers.empty());
    call.first_data.clear();
    EXPECT_EQ(gantt_of(measured, call).rows[0].transfers.size(), 2u) << "of a peer that does not tell";
    measured.identity.operation = "broadcast";
    EXPECT_EQ(gantt_of(measured, call).rows[0].transfers.size(), 1u) << "a root that sends is busy all the time";
    // All other ranks came before the root.
    measured.identity.operation = "reduce";
    call.arrivals = {200, 1, 5, 100};
    call.exits = {210, 3, 7, 102};
    call.first_data = {204, kNoTime, kNoTime, kNoTime};
    const auto late = gantt_of(measured, call).rows[0].transfers;
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(std::pair(late[0].begin, late[0].end), std::pair(Nanoseconds{204}, Nanoseconds{210}));
    // Between two groups, nothing comes from ranks 1 and 2, which are in the group of the root.
    measured.identity.operation = "intergroup_gather";
    measured.notes = {{"groups", "3+1"}};
    call.arrivals = {0, 1, 5, 100};
    call.exits = {110, 3, 7, 102};
    call.first_data = {101, kNoTime, kNoTime, kNoTime};
    const auto across = gantt_of(measured, call).rows[0].transfers;
    ASSERT_EQ(across.size(), 1u);
    EXPECT_EQ(std::pair(across[0].begin, across[0].end), std::pair(Nanoseconds{101}, Nanoseconds{110}));
    call.first_data.clear();
    EXPECT_EQ(gantt_of(measured, call).rows[0].transfers[0].begin, 100) << "of a peer that does not tell";
}

TEST(BenchPictures, SizesPatternsRanksAndBars) {
    const auto drawn = [](const std::vector<std::uint64_t>& sizes, const std::vector<std::string>& patterns,
                          const std::vector<int>& numbers) {
        Sweep sweep;
        sweep.operation = runtime::OperationKind::gather;
        sweep.sizes = sizes;
        sweep.algorithms = {"linear", "binomial"};
        Pictures pictures(sweep);
        const auto add = [&](int ranks, std::uint64_t bytes, std::size_t pattern, const std::string& algorithm) {
            const auto late = static_cast<Nanoseconds>(1000 * pattern);
            std::vector<Nanoseconds> delays(static_cast<std::size_t>(ranks)), exits(delays.size(), late + 9 * ranks);
            delays[1] = late;
            const CallSample call{.iteration = 3, .start = 0, .asked = delays, .arrivals = delays, .exits = exits};
            const Measured measured{{"gather", algorithm, "ucx", ranks, bytes, patterns[pattern], 1}, {.message_time = 5}, {call}, {}};
            pictures.add(measured, collective_cell(measured.identity, measured.setup, measured.calls));
        };
        for (const int ranks : numbers)
            for (const std::uint64_t bytes : sizes)
                for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern)
                    for (const std::string& algorithm : sweep.algorithms) add(ranks, bytes, pattern, algorithm);
        return pictures.picture();
    };
    const auto titles = [&](const std::vector<std::uint64_t>& sizes, const std::vector<std::string>& patterns,
                            const std::vector<int>& numbers = {2}) {
        std::vector<std::string> all;
        for (const Chart& chart : drawn(sizes, patterns, numbers))
            all.push_back(std::visit([](const auto& one) { return one.title; }, chart));
        return all;
    };
    const std::string calls[] = {"linear, 64, late: call 3", "binomial, 64, late: call 3"};
    EXPECT_EQ(
        titles({8, 64}, {"balanced", "late"}),
        (std::vector<std::string>{"gather of 64 with 2 ranks: time against imbalance", "gather with 2 ranks, balanced: time against size",
                                  "gather with 2 ranks, late: time against size", calls[0], calls[1]}));
    EXPECT_EQ(titles({64}, {"late"}), (std::vector<std::string>{"gather of 64 with 2 ranks, late", calls[0], calls[1]}));
    EXPECT_EQ(titles({8, 64}, {"late"}), (std::vector<std::string>{"gather with 2 ranks, late: time against size", calls[0], calls[1]}));
    EXPECT_EQ(
        titles({8, 64}, {"balanced", "late"}, {4, 2, 3}),
        (std::vector<std::string>{"gather of 64 with 4 ranks: time against imbalance", "gather with 4 ranks, balanced: time against size",
                                  "gather with 4 ranks, late: time against size", "gather of 64, balanced: time against ranks",
                                  "gather of 64, late: time against ranks", calls[0], calls[1]}));

    const Picture picture = drawn({8, 64}, {"late"}, {4, 2, 3});
    ASSERT_EQ(picture.size(), 4u);
    const auto points = [&](std::size_t chart) {
        std::vector<std::pair<double, double>> all;
        for (const auto& point : std::get<LineChart>(picture[chart]).series.at(1).points) all.emplace_back(point.x, point.y.median * 1e9);
        return all;
    };
    EXPECT_EQ(points(0).size(), 2u) << "two sizes of the largest number of ranks";
    ASSERT_EQ(points(1).size(), 3u);
    const double expected[] = {4, 2, 3};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(points(1)[i].first, expected[i]);
        EXPECT_NEAR(points(1)[i].second, 9 * expected[i], 1e-3);
    }
    for (const std::size_t call : {2, 3}) EXPECT_EQ(std::get<GanttChart>(picture[call]).rows.size(), 4u);
    EXPECT_TRUE(mentions(gnuplot_script({picture[1]}), "set logscale x\nset xtics ('2' 2, '3' 3, '4' 4)\n"));
}

TEST(BenchPictures, EachLandingHasItsLine) {
    Sweep sweep;
    sweep.operation = runtime::OperationKind::gather;
    sweep.sizes = {8, 64};
    sweep.algorithms = sweep.named = {"linear"};
    Pictures pictures(sweep);
    for (const char* landing : {"eager:4Ki", "eager:64Ki"})
        for (const std::uint64_t bytes : sweep.sizes) {
            const CallSample call{.iteration = 0, .start = 0, .asked = {0, 1}, .arrivals = {0, 1}, .exits = {9, 9}};
            const Measured measured{{"gather", "linear", "ucx", 2, bytes, "late", 1},
                                    {.message_time = 5, .model = Model::eager, .landing = landing},
                                    {call},
                                    {}};
            pictures.add(measured, collective_cell(measured.identity, measured.setup, measured.calls));
        }
    const Picture picture = pictures.picture();
    ASSERT_EQ(picture.size(), 3u);
    const auto& series = std::get<LineChart>(picture[0]).series;
    ASSERT_EQ(series.size(), 2u);
    EXPECT_EQ(series[0].name, "linear, landing eager:4Ki");
    EXPECT_EQ(series[1].points.size(), 2u);
    EXPECT_EQ(std::get<GanttChart>(picture[2]).title, "linear, landing eager:64Ki, 64, late: call 0");
}

TEST(BenchPictures, NamedAlgorithmsAllHaveTheirCall) {
    const auto calls = [](bool named) {
        Sweep sweep;
        sweep.operation = runtime::OperationKind::gather;
        sweep.sizes = {64};
        sweep.algorithms = {"linear", "binomial", "adaptive", "optimal", "two_part", "sorted_linear"};
        if (named) sweep.named = sweep.algorithms;
        Pictures pictures(sweep);
        Nanoseconds exit = 100;
        for (const std::string& algorithm : sweep.algorithms) {
            exit -= 10;  // the first one is the slowest
            const CallSample call{.iteration = 0, .start = 0, .asked = {0, 1}, .arrivals = {0, 1}, .exits = {exit, exit}};
            const Measured measured{{"gather", algorithm, "ucx", 2, 64, "late", 1}, {.message_time = 5}, {call}, {}};
            pictures.add(measured, collective_cell(measured.identity, measured.setup, measured.calls));
        }
        std::vector<std::string> found;
        for (const Chart& chart : pictures.picture())
            if (const auto* one = std::get_if<GanttChart>(&chart)) found.push_back(one->title.substr(0, one->title.find(',')));
        return found;
    };
    EXPECT_EQ(calls(true), (std::vector<std::string>{"linear", "binomial", "adaptive", "optimal", "two_part", "sorted_linear"}));
    EXPECT_EQ(calls(false), (std::vector<std::string>{"adaptive", "optimal", "two_part", "sorted_linear"}));
}

// A simulation makes fewer calls of an algorithm that takes longer.
TEST(BenchPictures, AlgorithmsWithFewerCallsHaveTheirCallToo) {
    Sweep sweep;
    sweep.operation = runtime::OperationKind::gather;
    sweep.sizes = {64};
    sweep.algorithms = sweep.named = {"linear", "binomial"};
    Pictures pictures(sweep);
    for (const std::string& algorithm : sweep.algorithms) {
        Measured measured{{"gather", algorithm, "ucx", 2, 64, "late", 1}, {.message_time = 5}, {}, {}};
        for (std::uint64_t i = 0; i < (algorithm == "linear" ? 9u : 3u); ++i) {
            const auto exit = static_cast<Nanoseconds>(10 * (i + 1));
            measured.calls.push_back({.iteration = i, .start = 0, .asked = {0, 1}, .arrivals = {0, 1}, .exits = {exit, exit}});
        }
        pictures.add(measured, collective_cell(measured.identity, measured.setup, measured.calls));
    }
    std::vector<std::string> found;
    for (const Chart& chart : pictures.picture())
        if (const auto* one = std::get_if<GanttChart>(&chart)) found.push_back(one->title);
    EXPECT_EQ(found, (std::vector<std::string>{"linear, 64, late: call 1", "binomial, 64, late: call 1"}));
}

TEST_F(BenchPlot, MissingProgramNamesThePackage) {
    const std::string missing = (folder_ / "no_such_program").string();
    EXPECT_TRUE(mentions(failure([&] { require_gnuplot(missing); }), "gnuplot-nox"));
    EXPECT_TRUE(mentions(failure([&] { write_picture(svg_, {kLines, kGantt}, missing); }), "gnuplot-nox"));
    EXPECT_FALSE(std::filesystem::exists(svg_));
}

TEST_F(BenchPlot, FailureShowsWhatTheProgramSaid) {
    std::ofstream(svg_) << "the picture of yesterday";
    // It reads nothing: that must not raise a signal here.
    const std::string broken = program("printf '\\n  line 3:\\tno such terminal\\n' >&2; exit 7\n");
    const std::string sentence = failure([&] { write_picture(svg_, {kLines}, broken); });
    EXPECT_TRUE(mentions(sentence, "exit code 7: line 3: no such terminal")) << sentence;
    EXPECT_EQ(picture(), "the picture of yesterday");
    const std::string silent = program("cat >/dev/null; echo odd >&2\n");
    EXPECT_TRUE(mentions(failure([&] { write_picture(svg_, {kLines}, silent); }), "drew no picture: odd"));
    const std::string killed = program("kill -9 $$\n");
    EXPECT_TRUE(mentions(failure([&] { require_gnuplot(killed); }), "exit code 137"));
}

TEST_F(BenchPlot, ScriptIsPassedWholeAndPictureIsTheOutput) {
    const std::string copy = (folder_ / "script").string();
    const std::string fake = program("cat > " + copy + "; echo '<?xml?>'\n");
    write_picture(svg_, {kLines, kGantt}, fake);
    std::ifstream file(copy);
    EXPECT_EQ((std::ostringstream() << file.rdbuf()).str(), gnuplot_script({kLines, kGantt}));
    EXPECT_EQ(picture(), "<?xml?>\n");
    EXPECT_TRUE(mentions(failure([&] { write_picture("/nonexistent/out.svg", {kLines, kGantt}, fake); }), "No such file"));
}

TEST(BenchChild, LongInputAndOutputDoNotBlockEachOther) {
    const std::string input(8 << 20, 'x');
    const ChildResult result = run_child({"cat"}, input);
    EXPECT_TRUE(result.found);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(result.output == input);
    EXPECT_EQ(result.errors, "");
}

TEST_F(BenchPlot, GnuplotDrawsEveryKindOfChart) {
    if (!run_child({"gnuplot", "--version"}, {}).found) GTEST_SKIP() << "gnuplot is not installed (package gnuplot-nox)";
    const auto draw = [&](const Picture& charts) {
        write_picture(svg_, charts);
        return picture();
    };
    const std::string both = draw({kLines, kGantt});
    for (const char* text : {"broadcast, 8 ranks", "imbalance factor", "mean elapsed time [ms]", ">binomial<", "one call", "0 (root)",
                             ">wait<", ">transfer<", ">arrival<", ">exit<", "[µs]"})
        EXPECT_TRUE(mentions(both, text)) << text;
    EXPECT_FALSE(mentions(draw({kLines}), ">wait<"));
    EXPECT_FALSE(mentions(draw({kGantt}), ">binomial<"));
    draw({lines({{0, 0.001}, {3, 0.010}, {300, 0.100}}), lines({{5, 0.001}}), kGantt, kGantt});
    draw({lines({{0, 0}})});
    draw({lines({{0, 0}, {1, 0}})});
    draw({GanttChart{"nothing happened", {{"0", 5, 5, {}}}}});
    LineChart sizes = lines({{0, 0.001}, {8, 0.001}, {8 << 20, 0.100}});
    sizes.x.marks = {{"0", 0}, {"8", 8}, {"8Mi", 8 << 20}};
    EXPECT_TRUE(mentions(draw({sizes}), ">8Mi<"));
    GanttChart large{"many ranks", {}};
    for (int rank = 0; rank < 3'000; ++rank) large.rows.push_back({std::to_string(rank), rank, 10'000, {{5'000, 6'000 + rank}}});
    draw({large});
    for (const auto& [name, begins] : {std::pair("out.png", "\x89PNG"), std::pair("out.pdf", "%PDF")}) {
        write_picture(folder_ / name, {kLines, lines({{5, 0.001}}), kGantt});
        std::ifstream file(folder_ / name);
        EXPECT_TRUE((std::ostringstream() << file.rdbuf()).str().starts_with(begins));
        std::filesystem::remove(folder_ / name);
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()), 1)
        << "nothing but the picture is left";
}

}  // namespace
}  // namespace rollcall::bench
