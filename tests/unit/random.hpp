/// \file
/// Random numbers of tests, whose seed is printed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace rollcall {

/// ROLLCALL_TEST_SEED gives a former seed back.
inline std::mt19937_64 seeded_random() {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    return std::mt19937_64(seed);
}

}  // namespace rollcall
