/// \file
/// The option --seed.
#pragma once

#include <cstdint>
#include <string>

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

inline constexpr const char* kDefaultSeed = "1";

/// Adds --seed. The initial value of the word is the default. `help`: seed of what.
void add_seed_option(usage::Command& command, std::string& word, const char* help);
/// Throws Error{invalid_argument}.
std::uint64_t parse_seed(const std::string& word);

}  // namespace rollcall::bench
