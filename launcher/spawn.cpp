#include "launcher/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>

#include "runtime/bootstrap/frames.hpp"

extern char** environ;

namespace rollcall::launcher {
namespace {

std::string_view name_of(std::string_view assignment) { return assignment.substr(0, assignment.find('=')); }

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

int executable(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (!S_ISREG(status.st_mode)) return EACCES;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// `from` at the place of `to`, for the program too.
bool place(int from, int to) {
    if (from == to) return ::fcntl(to, F_SETFD, 0) == 0;
    return ::dup2(from, to) >= 0;
}

}  // namespace

void Inherited::change(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    const auto index = static_cast<std::size_t>(signal);
    ::sigaction(signal, &action, changed[index] ? nullptr : &actions[index]);
    changed[index] = true;
}

void Inherited::restore() const {
    for (std::size_t signal = 1; signal < actions.size(); ++signal) {
        if (changed[signal]) ::sigaction(static_cast<int>(signal), &actions[signal], nullptr);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

Found find_program(const std::string& name, const std::vector<std::string>& environment) {
    if (name.empty()) return {name, ENOENT};
    if (name.find('/') != std::string::npos) return {name, executable(name)};
    std::string_view path = "/usr/local/bin:/usr/bin:/bin";
    for (const std::string& assignment : environment) {
        if (name_of(assignment) == "PATH") path = std::string_view(assignment).substr(5);
    }
    Found found{name, ENOENT};
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string_view directory = path.substr(begin, end - begin);
        const std::string candidate = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
        const int error = executable(candidate);
        if (error == 0) return {candidate, 0};
        if (error == EACCES) found.error = EACCES;  // found, but not executable: said when nothing better comes
        begin = end + 1;
    }
    return found;
}

pid_t spawn(const Spawn& what) {
    // Made before the fork: the child only makes system calls.
    const auto argv = pointers(*what.argv);
    const auto environment = pointers(*what.environment);
    const pid_t launcher = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) {
        if (child > 0) ::setpgid(child, child);  // both sides do, so that neither sees it undone
        return child;
    }

    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(128 + SIGKILL);  // it died before the line above
    bool ready = place(what.input, STDIN_FILENO) && place(what.output, STDOUT_FILENO) && place(what.error, STDERR_FILENO) &&
                 ::fcntl(what.bootstrap, F_SETFD, 0) == 0;
    if (ready && what.processor) {
        const auto processor = static_cast<std::size_t>(*what.processor);
        cpu_set_t* const set = CPU_ALLOC(processor + 1);
        const std::size_t size = CPU_ALLOC_SIZE(processor + 1);
        CPU_ZERO_S(size, set);
        CPU_SET_S(processor, size, set);
        ready = ::sched_setaffinity(0, size, set) == 0;
    }
    if (ready) {
        ::setrlimit(RLIMIT_NOFILE, &what.inherited->files);
        what.inherited->restore();
        ::execvpe(what.path, argv.data(), environment.data());
    }
    const int report[2] = {what.rank, errno};
    [[maybe_unused]] const auto ignored = ::write(what.report, report, sizeof report);
    ::_exit(127);
}

std::vector<int> processors() {
    // The kernel refuses sets that are smaller than its own: grow until it does not.
    std::vector<int> allowed;
    for (std::size_t count = 1024; count <= (std::size_t{1} << 20); count *= 4) {
        const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count), [](cpu_set_t* old) { CPU_FREE(old); });
        const std::size_t size = CPU_ALLOC_SIZE(count);
        if (::sched_getaffinity(0, size, set.get()) != 0) continue;
        for (std::size_t processor = 0; processor < count; ++processor) {
            if (CPU_ISSET_S(processor, size, set.get())) allowed.push_back(static_cast<int>(processor));
        }
        break;
    }
    std::map<std::string, int> seen;  // hyperthreads of a core share this list
    std::vector<std::pair<int, int>> order;
    for (const int processor : allowed) {
        std::string siblings;
        std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
        if (!std::getline(file, siblings)) siblings = std::to_string(processor);
        order.emplace_back(seen[siblings]++, processor);
    }
    std::sort(order.begin(), order.end());
    std::transform(order.begin(), order.end(), allowed.begin(), [](const auto& entry) { return entry.second; });
    return allowed;
}

std::vector<std::string> with_environment(std::vector<std::string> base, const std::vector<std::string>& more) {
    for (const std::string& assignment : more) {
        std::erase_if(base, [&](const std::string& old) { return name_of(old) == name_of(assignment); });
        base.push_back(assignment);
    }
    return base;
}

std::vector<std::string> own_environment() {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (!std::string_view(*entry).starts_with(bootstrap::kVariablePrefix)) all.emplace_back(*entry);
    }
    return all;
}

}  // namespace rollcall::launcher
