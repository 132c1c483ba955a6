/// \file
/// Test data that is different in every word, call and benchmark, so that a wrong result cannot look right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

namespace rollcall::bench {

/// Fills with the data of this key: a hash of key and position, a fresh one for every eight bytes.
void fill(std::span<std::byte> data, std::uint64_t key);
/// Fills with something that differs from the data of this key in every byte: what a receiver's buffer holds before.
void poison(std::span<std::byte> data, std::uint64_t key);
/// The position of the first byte that is not the data of this key; nothing when all are.
std::optional<std::uint64_t> find_wrong(std::span<const std::byte> data, std::uint64_t key);

/// A key for each combination of what is given: seed, algorithm, iteration, root...
std::uint64_t key_of(std::initializer_list<std::uint64_t> parts);

}  // namespace rollcall::bench
