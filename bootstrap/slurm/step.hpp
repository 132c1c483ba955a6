/// \file
/// What Slurm tells a task about its step, in the environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bootstrap {

/// A job step of Slurm's, as one of its tasks sees it.
struct SlurmStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    int rank = 0;
    int size = 1;
    int node = 0;  ///< Of this task, among those of the step.
    int nodes = 1;
    int local_rank = 0;  ///< Among the tasks of this node.
    int local_size = 1;
    /// Names and addresses of the host where rank 0 runs, the likeliest first.
    std::vector<std::string> first_host;

    std::string id() const { return std::to_string(job) + "." + std::to_string(step); }
};

/// The step that the environment tells of. Throws Error{bootstrap} naming the variable that is missing or wrong.
SlurmStep slurm_step();

/// The first host of a list as Slurm writes it: "n[3-5,9],gpu1" is "n3". Several ranges in a name are understood. Empty when
/// the text is no such list.
std::string first_of_host_list(std::string_view list);

/// The ports where rank 0 of a step may be found, in the order in which it tries them: all in [24000, 28096), so that a
/// firewall can let them through, and outside of the ports that Linux gives to outgoing connections.
inline constexpr int kSlurmPorts = 16;
std::uint16_t slurm_port(const SlurmStep& step, int attempt);

}  // namespace rollcall::bootstrap
