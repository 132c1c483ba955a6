/// \file
/// Scenarios of choices.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {

// All ranks choose alike, and say the same of it. Rank 0 prints what it says.
ROLLCALL_SCENARIO(same_choices) {
    const auto check_choices = [&](const Communicator& communicator) {
        for (const char* operation : {"broadcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "scan"})
            for (const std::uint64_t bytes : {8, 5000, 70'000, 1'000'000}) {
                const std::string own = communicator.explain(operation, bytes);
                std::array<char, 2048> of_root{};
                if (communicator.rank() == 0) own.copy(of_root.data(), of_root.size() - 1);
                communicator.broadcast(of_root, 0);
                check(own.substr(0, of_root.size() - 1) == of_root.data(), "rank 0 says '{}', this rank '{}'", of_root.data(), own);
                if (scene.rank == 0) fmt::print("{}\n", own);
            }
        std::vector<double> values(10'000, 1);
        communicator.allreduce(values, sum);
        communicator.broadcast(values, communicator.size() - 1);
        check(values[9'999] == communicator.size(), "the sum is {}", values[9'999]);
    };
    check_choices(scene.world);
    check_choices(scene.world.split(0, scene.size - scene.rank));
}

// Words: an operation, and an algorithm. This one is chosen for the world.
ROLLCALL_SCENARIO(chooses) {
    const std::string why = scene.world.explain(scene.word(0));
    check(why.find(": " + scene.word(1) + ",") != std::string::npos, "not {}: {}", scene.word(1), why);
}

}  // namespace rollcall::test
