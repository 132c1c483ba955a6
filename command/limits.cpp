#include "command/limits.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "foundation/cpu_quota.hpp"
#include "foundation/file.hpp"
#include "runtime/node/segment.hpp"
#include "runtime/process.hpp"
#include "transports/process_memory.hpp"

namespace rollcall::command {
namespace {

output::Value value_of(rlim_t limit, bool bytes) {
    if (limit == RLIM_INFINITY) return "unlimited";
    if (bytes) return output::Bytes{limit};
    return limit;
}

/// Says whether ranks of a node can share memory, and if only so many can, how many.
std::string node_memory(const Settings& settings) {
    if (settings.node_memory == "no") return "not used: ROLLCALL_NODE_MEMORY is no";
    if (settings.node_ranks == 1) return "not used: ROLLCALL_NODE_RANKS is 1";
    const runtime::node::Segment segment(1, settings.landing_bytes);
    if (!segment.why_not().empty()) return "not possible: " + segment.why_not();
    constexpr std::size_t kMost = 1024;  // The work grows with the square of the number, and few nodes have more ranks.
    std::vector<runtime::node::Handle> ranks(1, segment.handle());
    const std::uint64_t limit = ranks.front().longest_file;
    while (ranks.size() < kMost) {
        ranks.push_back(ranks.front());
        ranks.front().slots = runtime::slots_of(settings, static_cast<int>(ranks.size()));
        const std::uint64_t bytes = runtime::node::file_bytes(ranks);
        if (bytes <= limit) continue;
        const auto mebibytes = [](std::uint64_t number) { return fmt::format("{:.1f} MiB", static_cast<double>(number) / (1 << 20)); };
        return fmt::format("{}: {} ranks need a file of {}, and the limit of file sizes (ulimit -f) is {}",
                           ranks.size() > 2 ? fmt::format("possible for at most {} ranks", ranks.size() - 1) : "not possible", ranks.size(),
                           mebibytes(bytes), mebibytes(limit));
    }
    return limit == std::numeric_limits<std::uint64_t>::max() ? "possible" : fmt::format("possible for at least {} ranks", kMost);
}

/// Says whether ranks of a node can read each other's memory.
std::string single_copy(const Settings& settings) {
    if (settings.single_copy == "no") return "not used: ROLLCALL_SINGLE_COPY is no";
    const std::string why_not = transport::why_memory_cannot_be_read();
    return why_not.empty() ? "possible" : "not possible: " + why_not;
}

}  // namespace

std::vector<Limit> limits(const Settings& settings) {
    struct Resource {
        decltype(RLIMIT_NOFILE) resource;
        const char* name;
        bool bytes;
        const char* note;
    };
    static constexpr std::array kResources = {
        Resource{RLIMIT_NOFILE, "open files (RLIMIT_NOFILE)", false,
                 "a rank needs a few for each rank that it reaches over TCP; `rollcall run` needs 26 and four for each rank of this host"},
        Resource{RLIMIT_FSIZE, "file sizes (RLIMIT_FSIZE)", true, "the memory that ranks of a node share is a file"},
        Resource{RLIMIT_MEMLOCK, "locked memory (RLIMIT_MEMLOCK)", true, "RDMA registers memory by locking it"},
        Resource{RLIMIT_NPROC, "processes (RLIMIT_NPROC)", false,
                 "threads count: each rank has its own, Rollcall's background thread, and perhaps those of UCX or libfabric"}};

    std::vector<Limit> found;
    for (const auto& resource : kResources) {
        rlimit limit{};
        if (getrlimit(resource.resource, &limit) != 0) continue;
        found.push_back({resource.name, value_of(limit.rlim_cur, resource.bytes), resource.note});
    }
    if (struct statvfs shared{}; statvfs("/dev/shm", &shared) == 0) {
        const auto block = static_cast<std::uint64_t>(shared.f_frsize);
        found.push_back({"shared memory (/dev/shm)", output::Bytes{shared.f_blocks * block}, "ranks on one host exchange data through it"});
        found.push_back({"shared memory free", output::Bytes{shared.f_bavail * block}, ""});
    }
    if (const auto quota = cpu_quota()) {
        found.push_back({"CPUs of time (control group)", *quota, "ranks that poll are paused when it is used up"});
    }
    if (const auto pages = read_line("/sys/kernel/mm/transparent_hugepage/enabled"); !pages.empty()) {
        const auto begin = pages.find('[');
        const auto end = pages.find(']');
        const bool marked = begin != std::string::npos && end != std::string::npos && begin < end;
        found.push_back({"transparent huge pages", marked ? pages.substr(begin + 1, end - begin - 1) : pages,
                         "large buffers are touched and registered faster with them"});
    }
    found.push_back({"memory shared by ranks of a node", node_memory(settings), "collectives within a node go through it"});
    found.push_back({"single copy between ranks of a node", single_copy(settings),
                     settings.single_copy == "auto" ? "long messages are read straight out of their sender's memory if more ranks than "
                                                      "cores share the node (ROLLCALL_SINGLE_COPY=auto)"
                                                    : "long messages are read straight out of their sender's memory"});
    return found;
}

}  // namespace rollcall::command
