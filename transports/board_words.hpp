/// \file
/// How words that came as a message get on a board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall::transport {

/// Writes whole words on a board. Words that do not fit are ignored.
void write_words(std::span<std::byte> board, std::uint64_t offset, std::span<const std::byte> words) noexcept;

}  // namespace rollcall::transport
