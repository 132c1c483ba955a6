/// \file
/// A hash of numbers, and random numbers that are made from hashes. They are the same on all systems, which the distributions of the
/// standard library are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace rollcall::bench {

/// splitmix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/// A number of the standard normal distribution, from two uniform ones: `first` in (0, 1], `second` in [0, 1] (Box and Muller).
inline double normal_of(double first, double second) { return std::sqrt(-2 * std::log(first)) * std::cos(2 * std::numbers::pi * second); }

}  // namespace rollcall::bench
