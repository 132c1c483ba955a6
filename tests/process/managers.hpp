/// \file
/// The process managers of MPI libraries that start jobs in tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {

struct Manager {
    const char* name;
    const char* program;
    const char* package;
    const char* starter;  ///< As Job::started_by() returns it.
    Words words;          ///< Before the number of ranks.
    Words environment;
    friend void PrintTo(const Manager& manager, std::ostream* out) { *out << manager.name; }

    bool is_installed() const {
        std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
        for (std::string directory; std::getline(path, directory, ':');)
            if (std::filesystem::exists(directory + "/" + program)) return true;
        return false;
    }
    std::string why_skipped() const { return fmt::format("{} is not installed (package {})", program, package); }
    JobOptions starts(int ranks) const {
        Words all{"timeout", "100"};
        all.insert(all.end(), words.begin(), words.end());
        all.push_back(std::to_string(ranks));
        return {.environment = environment, .launcher = {}, .starter = all};
    }
};

inline const Manager kManagers[] = {
    {"hydra", "mpiexec.hydra", "mpich", "a launcher that speaks PMI-1", {"mpiexec.hydra", "-n"}, {}},
    {"mpirun",
     "mpirun.openmpi",
     "openmpi-bin",
     "Open MPI's mpirun",
     {"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n"},
     {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}},
};

}  // namespace rollcall::test
