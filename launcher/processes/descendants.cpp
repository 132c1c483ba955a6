#include "launcher/processes/descendants.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <thread>

#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/number.hpp"

namespace rollcall::launcher {
namespace {

struct Process {
    pid_t id;
    pid_t parent;
    char state;
};

/// Reads what /proc says about a process. The state is '\0' if the process is gone.
Process read_process(pid_t id) {
    Process process{id, 0, '\0'};
    const Descriptor file(::open(fmt::format("/proc/{}/stat", id).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return process;
    std::array<char, 512> text;
    const ssize_t bytes = ::read(file.get(), text.data(), text.size() - 1);
    if (bytes <= 0) return process;
    // The line is "12 (name) S 1 ...". The name may contain anything, so it ends at the last parenthesis.
    const std::string_view line(text.data(), static_cast<std::size_t>(bytes));
    const auto end = line.rfind(')');
    if (end == std::string_view::npos || end + 4 >= line.size()) return process;
    process.state = line[end + 2];
    std::from_chars(line.data() + end + 4, line.data() + line.size(), process.parent);
    return process;
}

/// Calls visit(Process) for every process of the system.
template <typename Visit>
void each_process(Visit visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
    if (!directory) return;
    while (const dirent* entry = ::readdir(directory.get())) {
        const auto id = number_of_text<pid_t>(entry->d_name);
        if (!id) continue;
        if (const Process process = read_process(*id); process.state != '\0') visit(process);
    }
}

std::vector<pid_t> below(pid_t root, const std::set<pid_t>& spare) {
    std::multimap<pid_t, Process> by_parent;
    each_process([&](const Process& process) { by_parent.emplace(process.parent, process); });
    std::vector<pid_t> found;
    std::vector<pid_t> open{root};
    while (!open.empty()) {
        const pid_t parent = open.back();
        open.pop_back();
        const auto [begin, end] = by_parent.equal_range(parent);
        for (auto entry = begin; entry != end; ++entry) {
            const Process& process = entry->second;
            if (parent == root && spare.contains(process.id)) continue;
            open.push_back(process.id);  // the leader may be a zombie while its other threads live, and these may have children
            if (process.state != 'Z' && process.state != 'X') found.push_back(process.id);
        }
    }
    return found;
}

}  // namespace

std::vector<pid_t> descendants(pid_t root, const std::set<pid_t>& spare) { return below(root, spare); }

pid_t parent_of(pid_t process) { return read_process(process).parent; }

std::set<pid_t> children() {
    std::set<pid_t> found;
    each_process([&, self = ::getpid()](const Process& process) {
        if (process.parent == self) found.insert(process.id);
    });
    return found;
}

bool kill_descendants(const std::set<pid_t>& spare, Timeout limit) {
    const Nanoseconds deadline = deadline_after(limit);
    auto pause = std::chrono::microseconds(100);
    for (;;) {
        if (spare.empty()) {
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
            if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return true;
        } else {
            bool left = false;
            for (const pid_t child : children()) {
                if (!spare.contains(child) && ::waitpid(child, nullptr, WNOHANG) == 0) left = true;
            }
            if (!left) return true;
        }
        for (const pid_t process : below(::getpid(), spare)) ::kill(process, SIGKILL);
        if (monotonic_now() > deadline) return false;
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(5));
    }
}

}  // namespace rollcall::launcher
