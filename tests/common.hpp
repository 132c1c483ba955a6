/// \file
/// For tests of real processes, on this host or on emulated ones: looks at processes and files, and provides seeds for random numbers.
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

/// Waits until the condition becomes true, and returns whether it did within the limit. Only a failing test waits that long.
inline bool eventually(const std::function<bool()>& what, std::chrono::steady_clock::duration limit = std::chrono::seconds(20)) {
    for (const auto deadline = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < deadline;) {
        if (what()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return what();
}

/// Returns the contents of a file. Returns an empty string for a file that does not exist, or that belongs to a process that has ended.
inline std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();  // An iterator would throw.
    return text.str();
}

/// Returns all processes that are visible from here.
inline std::vector<pid_t> processes() {
    std::vector<pid_t> all;
    DIR* const directory = ::opendir("/proc");
    while (const dirent* entry = ::readdir(directory)) {
        if (const int id = std::atoi(entry->d_name); id > 0) all.push_back(id);
    }
    ::closedir(directory);
    return all;
}

/// Returns whether a process has this entry in its environment. A process that has ended has no entries.
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

/// Returns the seed of the random parts: ROLLCALL_TEST_SEED, or a new one. Prints it.
inline std::uint64_t seed() {
    const char* const given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device()();
    fmt::print("ROLLCALL_TEST_SEED={}\n", value);
    return value;
}

}  // namespace rollcall::test
