/// \file
/// What an engine is told when it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine/communicators.hpp"
#include "runtime/engine/deputy.hpp"

namespace rollcall::runtime {

struct EngineOptions {
    int rank = 0;  ///< The rank in the world communicator.
    int size = 1;
    std::uint64_t landing_bytes = 0;
    std::uint64_t landing_longest = 0;       ///< Longest message that may land early; 0: no limit.
    std::uint64_t eager_bytes = 0;           ///< Longest message that may travel with its header.
    std::uint64_t eager_bytes_over_tcp = 0;  ///< The same to peers that are reached over TCP, where it is larger.
    Nanoseconds mismatch_probe = 50'000'000;
    AlgorithmName algorithm_name = nullptr;   ///< For error messages; null: algorithms are numbered.
    FindPartAlone find_part_alone = nullptr;  ///< Null: every part begins and ends with its caller.
    /// Data moves while the program does not call. Otherwise no caller of a collective leaves its part behind: it would stop until the next
    /// call.
    bool driven_in_background = true;
    /// Host names by rank, for error messages. Empty: the hosts have no names.
    std::vector<std::string> hosts;
    std::string job;                 ///< The name of the job, for the log.
    const char* end = "finalize()";  ///< What the program calls at its end, for error messages.
};

}  // namespace rollcall::runtime
