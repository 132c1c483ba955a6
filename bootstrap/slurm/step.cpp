#include "bootstrap/slurm/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <rollcall/error.hpp>

#include "bootstrap/ports.hpp"
#include "foundation/number.hpp"

namespace rollcall::bootstrap {
namespace {

template <class Number>
std::optional<Number> number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    const auto value = text ? number_of_text<Number>(text) : std::nullopt;
    return value && (!std::is_signed_v<Number> || *value >= Number{}) ? value : std::nullopt;
}

[[noreturn]] void unusable(std::string_view why) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("SLURM_PROCID says that srun started this process, but {}; let wrappers pass Slurm's variables on, start the "
                            "job in another way (srun --mpi=pmi2, `rollcall run`), or unset SLURM_PROCID to run alone",
                            why));
}

/// Returns the value of the first of these variables that is set.
template <class Number = int>
Number required(const char* variable, const char* older = nullptr) {
    if (older && !std::getenv(variable) && std::getenv(older)) variable = older;
    if (const auto value = number_in<Number>(variable)) return *value;
    const char* const text = std::getenv(variable);
    unusable(text ? fmt::format("{}={} is not a number", variable, text) : fmt::format("{} is not set", variable));
}

}  // namespace

std::string first_of_host_list(std::string_view list) {
    std::string host;
    for (std::size_t at = 0; at < list.size() && list[at] != ',';) {
        if (list[at] == ']') return {};
        if (list[at] != '[') {
            host += list[at++];
            continue;
        }
        const std::size_t close = list.find(']', at);
        if (close == std::string_view::npos) return {};
        const std::string_view ranges = list.substr(at + 1, close - at - 1);
        const std::string_view first = ranges.substr(0, ranges.find_first_of(",-"));
        if (first.empty() || first.find_first_not_of("0123456789") != std::string_view::npos) return {};
        host += first;
        at = close + 1;
    }
    return host;
}

SlurmStep slurm_step() {
    SlurmStep step;
    step.job = required<std::uint32_t>("SLURM_JOB_ID", "SLURM_JOBID");
    step.step = required<std::uint32_t>("SLURM_STEP_ID", "SLURM_STEPID");
    step.rank = required("SLURM_PROCID");
    step.size = required("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
    step.node = required("SLURM_NODEID");
    step.nodes = required("SLURM_STEP_NUM_NODES", "SLURM_NNODES");
    step.local_rank = required("SLURM_LOCALID");
    const char* const local = std::getenv("SLURM_GTIDS");  // for example "4,5"
    if (!local) unusable("SLURM_GTIDS is not set");
    step.local_size = 1 + static_cast<int>(std::count(local, local + std::strlen(local), ','));
    if (step.rank >= step.size || step.node >= step.nodes || step.local_rank >= step.local_size || step.local_size > step.size ||
        (step.rank == 0 && step.local_rank != 0))
        unusable(fmt::format("its variables do not fit together: task {} of {}, node {} of {}, {} of {} on its node", step.rank, step.size,
                             step.node, step.nodes, step.local_rank, step.local_size));

    const char* list = std::getenv("SLURM_STEP_NODELIST");
    if (!list) list = std::getenv("SLURM_NODELIST");
    if (!list) unusable("SLURM_STEP_NODELIST is not set");
    step.first_host.push_back(first_of_host_list(list));
    if (step.first_host.front().empty()) unusable(fmt::format("SLURM_STEP_NODELIST={} is not a list of hosts", list));
    // If only Slurm knows the names of the nodes, the first node is often the host on which srun runs.
    for (const char* variable : {"SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST"}) {
        const char* const address = std::getenv(variable);
        if (address && *address && std::find(step.first_host.begin(), step.first_host.end(), address) == step.first_host.end())
            step.first_host.emplace_back(address);
    }
    return step;
}

std::uint16_t slurm_port(const SlurmStep& step, int attempt) {
    // The steps of one job, and jobs with neighbouring numbers, begin at different ports.
    const std::uint32_t begin = (step.job * 61 + step.step * 17) % kPortRange;
    return static_cast<std::uint16_t>(kFirstPort + (begin + static_cast<std::uint32_t>(attempt)) % kPortRange);
}

}  // namespace rollcall::bootstrap
