/// \file
/// For tests of `rollcall bench` and `rollcall simulate`: runs the commands and parses their output.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/common.hpp"
#include "tests/process/algorithms.hpp"

namespace rollcall::test {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

class BenchCommand : public testing::Test {
  protected:
    struct Ended {
        int code = -1;
        std::string out, error;
    };

    void SetUp() override {
        std::string name = testing::TempDir() + "rollcall-bench-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    /// Runs the command. A shell splits the words, unquoted.
    Ended run(const std::string& words, const std::string& before = "") {
        const auto out = directory_ / "out", error = directory_ / "error";
        const std::string command = before + " timeout 120 " ROLLCALL_COMMAND " " + words + " >" + out.string() + " 2>" + error.string();
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, contents(out), contents(error)};
    }

    void expect_refused(const std::string& words, const Lines& mentioned) {
        SCOPED_TRACE(words);
        const Ended ended = run(words);
        EXPECT_EQ(ended.code, 2);
        EXPECT_EQ(ended.out, "");
        EXPECT_EQ(lines_of(ended.error).size(), 1u) << ended.error;
        for (const std::string& text : mentioned) EXPECT_NE(ended.error.find(text), std::string::npos) << text << ": " << ended.error;
    }

    std::filesystem::path directory_;
};

/// Expects the fields with which every line of every benchmark begins.
inline void expect_cell(const Json& cell, const std::string& operation, bool collective) {
    const Lines expected = {"operation",  "algorithm", "transport",    "ranks",         "bytes",     "pattern",
                            "iterations", "run_time",  "mean_elapsed", "worst_elapsed", "last_delay"};
    Lines keys;
    for (const auto& [key, value] : cell.items()) keys.push_back(key);
    ASSERT_GE(keys.size(), expected.size());
    keys.resize(expected.size());
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(cell["operation"], operation);
    for (const char* key : {"ranks", "bytes", "iterations"})
        EXPECT_TRUE(cell[key].is_number_unsigned() || cell[key].is_number_integer()) << key;
    for (const char* key : {"algorithm", "transport", "pattern"}) EXPECT_TRUE(cell[key].is_string()) << key;
    for (const char* key : {"run_time", "mean_elapsed", "worst_elapsed", "last_delay"}) {
        Lines parts;
        for (const auto& [part, value] : cell[key].items()) {
            parts.push_back(part);
            if (collective || std::string(key) == "run_time") {
                EXPECT_TRUE(value.is_number()) << key << ' ' << part;
            }
        }
        EXPECT_EQ(parts, (Lines{"median", "low", "high"}));
    }
    EXPECT_GT(cell["run_time"]["median"], 0.0);
    EXPECT_LE(cell["run_time"]["low"], cell["run_time"]["median"]);
    EXPECT_LE(cell["run_time"]["median"], cell["run_time"]["high"]);
}

/// Returns all algorithms of an operation that run between real processes.
inline std::set<std::string> names_of(const std::string& operation) {
    for (const auto& row : operations_in_table())
        if (row.name == operation) {
            const Words names = algorithms(row);
            return {names.begin(), names.end()};
        }
    return {};
}

}  // namespace rollcall::test
