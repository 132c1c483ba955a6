#include "launcher/hosts/allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include <rollcall/error.hpp>

#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/text.hpp"

namespace rollcall::launcher {
namespace {

constexpr const char* kWayOut = "; give --hosts, or --hosts localhost:N to run N ranks on this host";

constexpr const char* kTasks = "SLURM_TASKS_PER_NODE";
constexpr const char* kProcessorsOfNode = "SLURM_JOB_CPUS_PER_NODE";
constexpr const char* kProcessorsOfTask = "SLURM_CPUS_PER_TASK";

[[noreturn]] void refuse(const char* variable, const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("run: the hosts of the allocation cannot be read from {}: {}{}", variable, why, kWayOut));
}

const char* text_of(const char* variable) {
    const char* const text = std::getenv(variable);
    return text != nullptr && *text != '\0' ? text : nullptr;
}

int number(const char* variable, std::string_view text) {
    const auto value = number_of_text<int>(text);
    if (!value || *value < 1) refuse(variable, fmt::format("{} is not a number from 1 on", quote(text)));
    return *value;
}

/// "2(x3),1" means 2, 2, 2, 1.
std::vector<int> repeated_numbers(const char* variable, std::string_view text) {
    std::vector<int> numbers;
    for (const std::string_view entry : split_at_commas(text)) {
        const auto open = entry.find("(x");
        const bool repeated = open != std::string_view::npos && entry.ends_with(')');
        const int times = repeated ? number(variable, entry.substr(open + 2, entry.size() - open - 3)) : 1;
        if (numbers.size() + static_cast<std::size_t>(times) > static_cast<std::size_t>(kMostHosts))
            refuse(variable, "it names too many hosts");
        numbers.insert(numbers.end(), static_cast<std::size_t>(times), number(variable, repeated ? entry.substr(0, open) : entry));
    }
    return numbers;
}

Allocation of_slurm(const char* nodes) {
    Allocation found{"Slurm", {}, "srun"};
    try {
        found.hosts = parse_hosts(nodes, "");
    } catch (const Error& error) {
        refuse("SLURM_JOB_NODELIST", error.what());
    }
    // In a task of a step, srun has replaced the tasks of the job by those of the step. The processors are still those of the job.
    const char* const tasks = text_of(kTasks);
    const char* const of_step = text_of("SLURM_STEP_TASKS_PER_NODE");
    const bool are_of_step =
        text_of("SLURM_STEP_ID") != nullptr && tasks != nullptr && of_step != nullptr && std::string_view(tasks) == of_step;
    for (const char* variable : {kTasks, kProcessorsOfNode}) {
        const char* const text = text_of(variable);
        if (text == nullptr || (variable == kTasks && are_of_step)) continue;
        const auto slots = repeated_numbers(variable, text);
        if (slots.size() != found.hosts.size()) {
            refuse(variable, fmt::format("it has numbers for {} hosts, but SLURM_JOB_NODELIST names {}", slots.size(), found.hosts.size()));
        }
        const char* const each = variable == kProcessorsOfNode ? text_of(kProcessorsOfTask) : nullptr;
        const int divisor = each != nullptr ? number(kProcessorsOfTask, each) : 1;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            found.hosts[i].slots = std::max(1, slots[i] / divisor);
            found.hosts[i].slots_given = true;
        }
        break;
    }
    return found;
}

/// Each line names a host. A host gets one slot each time it is named.
Allocation of_lines(const char* manager, const char* variable, const char* path) {
    try {
        return {manager, read_hostfile(path), ""};
    } catch (const Error& error) {
        refuse(variable, error.what());
    }
}

/// The text is "a 4 b 2", or has lines that begin with "a 4".
Allocation of_pairs(const char* manager, const char* variable, std::istream& text, bool in_lines) {
    std::string list;
    for (std::string name, slots, rest; text >> name;) {
        if (!(text >> slots)) refuse(variable, fmt::format("host {} has no number of slots", quote(name)));
        if (in_lines) std::getline(text, rest);
        list += fmt::format("{}{}:{}", list.empty() ? "" : ",", name, number(variable, slots));
    }
    if (list.empty()) refuse(variable, "it names no host");
    try {
        return {manager, parse_hosts(list, ""), ""};
    } catch (const Error& error) {
        refuse(variable, error.what());
    }
}

}  // namespace

std::optional<Allocation> find_allocation() {
    if (const char* const nodes = text_of("SLURM_JOB_NODELIST")) return of_slurm(nodes);
    if (const char* const path = text_of("PBS_NODEFILE")) return of_lines("PBS", "PBS_NODEFILE", path);
    if (const char* const path = text_of("LSB_DJOB_HOSTFILE")) return of_lines("LSF", "LSB_DJOB_HOSTFILE", path);
    if (const char* const list = text_of("LSB_MCPU_HOSTS")) {
        std::istringstream text(list);
        return of_pairs("LSF", "LSB_MCPU_HOSTS", text, false);
    }
    if (const char* const path = text_of("PE_HOSTFILE")) {
        std::ifstream file(path);
        if (!file) refuse("PE_HOSTFILE", fmt::format("{} cannot be read", quote(path)));
        return of_pairs("Grid Engine", "PE_HOSTFILE", file, true);
    }
    return std::nullopt;
}

std::string agent_in_allocation(const std::vector<Host>& hosts) {
    std::set<std::string> names;
    try {
        const auto allocation = find_allocation();
        if (!allocation || allocation->agent.empty()) return {};
        for (const Host& host : allocation->hosts) names.insert(host.name);
        const bool all = std::all_of(hosts.begin(), hosts.end(), [&](const Host& host) { return names.contains(host.name); });
        return all ? allocation->agent : "";
    } catch (const Error&) {  // the user has named hosts, so that it need not be read
        return {};
    }
}

}  // namespace rollcall::launcher
