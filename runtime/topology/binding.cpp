#include "runtime/topology/binding.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <sched.h>
#include <rollcall/error.hpp>

#include "foundation/file.hpp"
#include "foundation/quote.hpp"

namespace rollcall::runtime {
namespace {

struct FreeCpuSet {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;

/// The search for the size of the kernel's CPU sets ends here, and larger CPU numbers are refused. It is eight times the largest number of
/// CPUs for which Linux can be built.
constexpr int kMaximumCpus = 1 << 16;

}  // namespace

Cpus cpus_of() {
    // The kernel refuses a set that is smaller than its own, and does not tell the size of its own. So the search doubles the size.
    for (int capacity = CPU_SETSIZE; capacity <= kMaximumCpus; capacity *= 2) {
        const CpuSet set(CPU_ALLOC(static_cast<std::size_t>(capacity)));
        if (!set) return {};
        const auto size = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
        if (sched_getaffinity(0, size, set.get()) == 0) {
            Cpus cpus;
            for (int cpu = 0; cpu < capacity; ++cpu) {
                if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set.get())) cpus.push_back(cpu);
            }
            return cpus;
        }
        if (errno != EINVAL) return {};
    }
    return {};
}

Cpus cpus_of_core(int cpu) {
    const auto list = read_line(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    if (!list.empty()) {
        try {
            return parse_cpus(list);
        } catch (const Error&) {
            // The kernel has written something that is not a list of CPUs. Only `cpu` itself is returned.
        }
    }
    return {cpu};
}

std::error_code bind_this_thread(std::span<const int> cpus) noexcept {
    if (cpus.empty()) return std::make_error_code(std::errc::invalid_argument);
    const auto [lowest, highest] = std::minmax_element(cpus.begin(), cpus.end());
    if (*lowest < 0 || *highest >= kMaximumCpus) return std::make_error_code(std::errc::invalid_argument);
    const auto capacity = static_cast<std::size_t>(std::max(*highest + 1, CPU_SETSIZE));
    const CpuSet set(CPU_ALLOC(capacity));
    if (!set) return std::make_error_code(std::errc::not_enough_memory);
    const auto size = CPU_ALLOC_SIZE(capacity);
    CPU_ZERO_S(size, set.get());
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
    if (sched_setaffinity(0, size, set.get()) != 0) return {errno, std::generic_category()};
    return {};
}

std::string format_cpus(std::span<const int> cpus) {
    std::string text;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += first == last ? fmt::to_string(cpus[first]) : fmt::format("{}-{}", cpus[first], cpus[last]);
        first = last + 1;
    }
    return text;
}

Cpus parse_cpus(std::string_view text) {
    const auto refuse = [&] {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} is not a list of CPUs; allowed: numbers and ranges such as 0-3,8", quote(text)));
    };
    const auto take_number = [&](std::string_view& rest) {
        int number = -1;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (error != std::errc{} || number < 0 || number >= kMaximumCpus) refuse();
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        return number;
    };
    std::set<int> cpus;
    auto rest = text;
    while (!rest.empty()) {
        const int first = take_number(rest);
        int last = first;
        if (rest.starts_with('-')) {
            rest.remove_prefix(1);
            last = take_number(rest);
        }
        if (last < first) refuse();
        for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
        if (rest.empty()) break;
        if (!rest.starts_with(',') || rest.size() == 1) refuse();
        rest.remove_prefix(1);
    }
    return {cpus.begin(), cpus.end()};
}

bool oversubscribed(std::span<const Cpus> cpus_of_local_ranks) {
    std::set<int> together;
    std::map<Cpus, std::size_t> ranks_with;
    for (const auto& cpus : cpus_of_local_ranks) {
        together.insert(cpus.begin(), cpus.end());
        if (++ranks_with[cpus] > std::max<std::size_t>(cpus.size(), 1)) return true;
    }
    return cpus_of_local_ranks.size() > std::max<std::size_t>(together.size(), 1);
}

}  // namespace rollcall::runtime
