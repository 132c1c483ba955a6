/// \file
/// What a task learns from its environment about its step of Slurm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bootstrap {

/// A job step of Slurm, as one of its tasks sees it.
struct SlurmStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    int rank = 0;
    int size = 1;
    int node = 0;  ///< The node of this task, counted within the step.
    int nodes = 1;
    int local_rank = 0;  ///< Among the tasks of this node.
    int local_size = 1;
    /// Names and addresses of the host where rank 0 runs, the most likely one first.
    std::vector<std::string> first_host;

    std::string id() const { return std::to_string(job) + "." + std::to_string(step); }
};

/// Returns the step that the environment describes. Throws Error{bootstrap}, which names the variable that is missing or wrong.
SlurmStep slurm_step();

/// Returns the first host of a list as Slurm writes it: for "n[3-5,9],gpu1" it is "n3". A name may have several ranges. Empty if the text
/// is not such a list.
std::string first_of_host_list(std::string_view list);

/// The ports where rank 0 of a step may listen, in the order in which it tries them. All are in [24000, 28096): so a firewall can let them
/// through, and Linux does not use them for outgoing connections.
inline constexpr int kSlurmPorts = 16;
std::uint16_t slurm_port(const SlurmStep& step, int attempt);

}  // namespace rollcall::bootstrap
