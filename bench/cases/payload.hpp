/// \file
/// Test data that differs between words, calls and benchmarks, so that a wrong result cannot look right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

namespace rollcall::bench {

/// Fills `data` with the data of this key. Every eight bytes are a hash of the key and the position.
void fill(std::span<std::byte> data, std::uint64_t key);
/// Fills `data` with bytes of which each one differs from the data of this key. A receiver's buffer contains them before the call.
void poison(std::span<std::byte> data, std::uint64_t key);
/// Returns the position of the first byte that differs from the data of this key, or nothing if all are right.
std::optional<std::uint64_t> find_wrong(std::span<const std::byte> data, std::uint64_t key);

/// Returns a key for a combination of numbers: seed, algorithm, iteration, root and so on.
std::uint64_t key_of(std::initializer_list<std::uint64_t> parts);

}  // namespace rollcall::bench
