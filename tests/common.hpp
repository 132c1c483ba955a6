/// \file
/// For tests of real processes, on this host or on emulated ones: what is to be seen of processes and files, and seeds.
#pragma once

#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace rollcall::test {

/// Whether it becomes true within the limit; only a failing test waits that long.
inline bool eventually(const std::function<bool()>& what, std::chrono::steady_clock::duration limit = std::chrono::seconds(20)) {
    for (const auto deadline = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < deadline;) {
        if (what()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return what();
}

/// Of a file; of one that is not there, or of a process that has gone, nothing.
inline std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();  // an iterator would throw
    return text.str();
}

/// All that are to be seen from here.
inline std::vector<pid_t> processes() {
    std::vector<pid_t> all;
    DIR* const directory = ::opendir("/proc");
    while (const dirent* entry = ::readdir(directory)) {
        if (const int id = std::atoi(entry->d_name); id > 0) all.push_back(id);
    }
    ::closedir(directory);
    return all;
}

/// Whether a process has this entry in its environment. One that has ended has none.
inline bool has_entry(pid_t process, const std::string& entry) {
    return ('\0' + contents(fmt::format("/proc/{}/environ", process))).find('\0' + entry + '\0') != std::string::npos;
}

inline int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
    return found;
}

inline testing::AssertionResult has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

/// Seed of random parts: ROLLCALL_TEST_SEED, or a new one. Printed.
inline std::uint64_t seed() {
    const char* const given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device()();
    fmt::print("ROLLCALL_TEST_SEED={}\n", value);
    return value;
}

}  // namespace rollcall::test
