/// \file
/// Finds the size of a command line that explains why there is not enough memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rollcall::bench {

/// Takes the words of the command, without its name. If they are those of `rollcall bench`, and an option for sizes of data has a size
/// above `memory` (bytes), returns that option with its value, as the user gave it: "--bytes 8Ti". Otherwise returns an empty text:
/// something else has taken the memory, such as many iterations.
std::string size_beyond(std::span<const char* const> words, std::uint64_t memory);

}  // namespace rollcall::bench
