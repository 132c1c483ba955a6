// Raw samples: what is written can be read back, and what is broken is named.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <rollcall/error.hpp>
#include <sstream>

#include "bench/results/csv.hpp"
#include "bench/results/raw.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

class BenchRaw : public testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path_); }
    void write(std::string_view text) { std::ofstream(path_) << text; }
    std::string text() {
        std::ifstream file(path_);
        return (std::ostringstream() << file.rdbuf()).str();
    }
    std::string refusal() {
        try {
            read_raw(path_);
        } catch (const Error& error) {
            return error.what();
        }
        ADD_FAILURE() << "a broken file was read";
        return {};
    }

    const std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("rollcall_raw_" + std::to_string(::getpid()) + ".csv");
};

const std::string kHeading =
    "operation,algorithm,transport,ranks,bytes,pattern,iterations,root,model,landing,sizes,groups,message_time_ns,iteration,rank,asked_ns,"
    "arrival_ns,"
    "exit_ns,first_data_ns,predicted_ns\n";

TEST_F(BenchRaw, FileHasALinePerCallAndRank) {
    RawWriter writer(path_);
    writer.append({"broadcast", "linear", "ucx", 2, 8, "file:/tmp/a,\"b\"", 1}, {1, 250, Model::eager, "eager:4Ki", "spikes", "1+1"},
                  {3, 1'000, {0, 5}, {1'001, 1'006}, {1'100, 1'200}, {kNoTime, 1'150}, {1'000, kNoTime}});
    writer.append({"gather", "linear", "ucx", 1, 8, "balanced", 1}, {0, 0, Model::nonblocking}, {4, 0, {0}, {1}, {2}});
    writer.close();
    EXPECT_EQ(text(), kHeading +
                          "broadcast,linear,ucx,2,8,\"file:/tmp/a,\"\"b\"\"\",1,1,eager,eager:4Ki,spikes,1+1,250,3,0,0,1,100,,0\n"
                          "broadcast,linear,ucx,2,8,\"file:/tmp/a,\"\"b\"\"\",1,1,eager,eager:4Ki,spikes,1+1,250,3,1,5,6,200,150,\n"
                          "gather,linear,ucx,1,8,balanced,1,0,nonblocking,,,,0,4,0,0,1,2,,\n");
}

TEST_F(BenchRaw, MixedCellsComeBackUnchanged) {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    std::mt19937_64 random(seed);
    const auto time = [&] { return static_cast<Nanoseconds>(random() >> 4); };

    std::vector<RawCell> cells;
    for (const char* algorithm : {"linear", "binomial", "arrival_nonblocking"})
        for (const int ranks : {1, 2, 7})
            cells.push_back({{"broadcast", algorithm, "ucx", ranks, std::uint64_t{1} << 40, "late:20%:16T", 20},
                             {ranks - 1, time(), random() % 2 == 0 ? Model::blocking : Model::nonblocking},
                             {}});
    // Only the landing tells these apart.
    for (const char* landing : {"eager:4Ki", "eager:64Ki"})
        cells.push_back({{"broadcast", "linear", "ucx", 2, 8, "balanced", 20}, {0, 5, Model::eager, landing}, {}});
    // Only the distribution tells these apart.
    for (const char* sizes : {"spikes", "skewed"})
        cells.push_back({{"gather", "linear", "ucx", 2, 8, "balanced", 20}, {0, 5, Model::eager, "", sizes}, {}});
    RawWriter writer(path_);
    for (std::uint64_t iteration = 0; iteration < 20; ++iteration)
        for (RawCell& cell : cells) {
            CallSample sample;
            sample.iteration = iteration;
            for (int rank = 0; rank < cell.identity.ranks; ++rank) {
                sample.asked.push_back(time());
                sample.arrivals.push_back(time());
                sample.exits.push_back(-time());
                sample.first_data.push_back(random() % 2 == 0 ? kNoTime : time());
                sample.predicted.push_back(random() % 2 == 0 ? kNoTime : -time());
            }
            cell.samples.push_back(sample);
            CallSample shifted = sample;  // read back relative to its start
            shifted.start = -12'345;
            for (Nanoseconds& arrival : shifted.arrivals) arrival += shifted.start;
            for (Nanoseconds& exit : shifted.exits) exit += shifted.start;
            for (auto* times : {&shifted.first_data, &shifted.predicted})
                for (Nanoseconds& one : *times) one += one == kNoTime ? 0 : shifted.start;
            writer.append(cell.identity, cell.setup, shifted);
        }
    writer.close();

    const std::vector<RawCell> read = read_raw(path_);
    ASSERT_EQ(read.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        EXPECT_EQ(read[i].identity, cells[i].identity);
        EXPECT_EQ(read[i].setup, cells[i].setup);
        EXPECT_EQ(read[i].samples, cells[i].samples);
    }
}

TEST_F(BenchRaw, BrokenFilesAreNamedWithTheirLine) {
    const std::string row = "broadcast,linear,ucx,2,8,balanced,1,0,blocking,,,,250,";
    write("");
    EXPECT_TRUE(mentions(refusal(), "empty"));
    write("a,b,c\n");
    EXPECT_TRUE(mentions(refusal(), "line 1: this is not the heading"));
    write("\na,b,c\n");
    EXPECT_TRUE(mentions(refusal(), "line 2: this is not the heading"));
    write(kHeading + row + "0,0,1,2,,\n");
    EXPECT_TRUE(mentions(refusal(), "line 2: 19 columns instead of 20"));
    write(kHeading + row + "0,0,1,2,3,,\n" + row + "0,1,1,x,3,,\n");
    EXPECT_TRUE(mentions(refusal(), "line 3: arrival_ns is 'x'"));
    write(kHeading + row + "0,1,1,2,3,,\n");
    EXPECT_TRUE(mentions(refusal(), "line 2: rank 1 of iteration 0 is not the one that must follow"));
    write(kHeading + row + "0,0,1,2,3,,\n" + row + "1,1,1,2,3,,\n");
    EXPECT_TRUE(mentions(refusal(), "line 3: rank 1 of iteration 1"));
    write(kHeading + row + "0,0,1,2,3,,\n");
    EXPECT_TRUE(mentions(refusal(), "after 1 of 2 ranks: the file is cut off"));
    write(kHeading + row + "0,0,1,2,3,,\n" + row + "1,0,1,2,3,,\n" + row + "1,1,1,2,3,,\n");
    EXPECT_TRUE(mentions(refusal(), "cut off")) << "also in the middle";
    write(kHeading + row + "0,0,1,2,3,soon,\n");
    EXPECT_TRUE(mentions(refusal(), "line 2: first_data_ns is 'soon'"));
    write(kHeading + "\"broadcast,linear\n");
    EXPECT_TRUE(mentions(refusal(), "line 2: a quote is not closed"));
    std::filesystem::remove(path_);
    EXPECT_TRUE(mentions(refusal(), "No such file"));
}

// Its writer was ended: what is whole is kept.
TEST_F(BenchRaw, OfACutFileWholeCellsAreRead) {
    const std::string one = "gather,linear,ucx,2,8,balanced,2,0,blocking,,,,250,",
                      other = "gather,linear,ucx,2,64,balanced,2,0,blocking,,,,250,";
    const auto calls = [](const std::string& cell) {
        return cell + "0,0,1,2,3,,\n" + cell + "0,1,1,2,3,,\n" + cell + "1,0,1,2,3,,\n" + cell + "1,1,1,2,3,,\n";
    };
    const std::string whole = kHeading + calls(one), all = whole + calls(other);
    for (std::size_t length = 0; length < all.size(); ++length) {
        write(all.substr(0, length));
        const std::vector<RawCell> read = read_raw(path_, RawFile::cut_off);
        ASSERT_EQ(read.size(), length < whole.size() ? 0u : 1u) << length;
        if (!read.empty()) {
            EXPECT_EQ(read[0].identity.bytes, 8u);
        }
    }
    write(all);
    EXPECT_EQ(read_raw(path_, RawFile::cut_off).size(), 2u);
    std::filesystem::remove(path_);
    EXPECT_TRUE(read_raw(path_, RawFile::cut_off).empty());
}

TEST_F(BenchRaw, WritingFailuresAreReported) {
    try {
        RawWriter("/nonexistent/raw.csv");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_TRUE(mentions(error.what(), "'/nonexistent/raw.csv': No such file")) << error.what();
    }
    RawWriter writer(path_);
    EXPECT_THROW(writer.append({"broadcast", "linear", "ucx", 3, 8, "balanced", 1}, {}, {0, 0, {0}, {0}, {0}}), Error);
    if (!std::filesystem::exists("/dev/full")) return;
    RawWriter full("/dev/full");
    EXPECT_THROW(full.close(), Error);
}

TEST(BenchCsv, RoundTrip) {
    const std::vector<std::string> fields{"", "a", "b,c", "\"", "d \"e\", f", ""};
    EXPECT_EQ(csv_fields(csv_line(fields)), fields);
    EXPECT_EQ(csv_fields("a,b\r"), (std::vector<std::string>{"a", "b"}));
    EXPECT_THROW(csv_line({"a\nb"}), Error);
    EXPECT_THROW(csv_fields("\"a"), Error);
}

}  // namespace
}  // namespace rollcall::bench
