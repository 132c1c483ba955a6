/// \file
/// A file of delays, which a pattern replays.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/cases/delay.hpp"

namespace rollcall::bench {

struct Replay {
    std::string path;
    std::vector<std::vector<Delay>> lines;
    std::vector<std::size_t> line_numbers;  // line numbers of `lines` in the file, from 1
};

/// Reads text or CSV. Each line has the delays of one iteration, one for each rank, separated by commas, semicolons or blanks. A delay is
/// in seconds unless it has a unit. `#` begins a comment. If the first line consists of words, it is a heading. Throws
/// Error{invalid_argument} that names the line.
Replay read_replay(std::string path);

}  // namespace rollcall::bench
