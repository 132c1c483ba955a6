/// \file
/// A file of delays: what a pattern replays.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/delay.hpp"

namespace rollcall::bench {

struct Replay {
    std::string path;
    std::vector<std::vector<Delay>> lines;
    std::vector<std::size_t> line_numbers;  // of `lines` in the file, from 1
};

/// Text or csv: a line per iteration with a delay per rank, in seconds unless a unit is given, separated by commas, semicolons or
/// blanks; `#` begins a comment; a first line of words is a heading. Throws Error{invalid_argument} that names the line.
Replay read_replay(std::string path);

}  // namespace rollcall::bench
