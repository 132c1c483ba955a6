#include "launcher/processes/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "launcher/processes/frames.hpp"

extern char** environ;

namespace rollcall::launcher {
namespace {

std::string_view name_of(std::string_view assignment) { return assignment.substr(0, assignment.find('=')); }

int executable(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (!S_ISREG(status.st_mode)) return EACCES;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// Puts the descriptor `from` at the number `to`, and lets the program inherit it.
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

void Inherited::raise_files() {
    rlimit now{};
    if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return;
    if (!files) files = now;
    now.rlim_cur = now.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &now);
}

void Inherited::restore() const {
    if (files) ::setrlimit(RLIMIT_NOFILE, &*files);
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
        if (error == EACCES)
            found.error = EACCES;  // the file was found but cannot be executed; reported if no later directory has a better one
        begin = end + 1;
    }
    return found;
}

pid_t spawn(const Spawn& what) {
    // These are made before the fork, because the child may only make system calls.
    const auto argv = pointers(*what.argv);
    const auto environment = pointers(*what.environment);
    cpu_set_t* set = nullptr;
    std::size_t set_size = 0;
    if (!what.processors.empty()) {
        const auto most = static_cast<std::size_t>(*std::max_element(what.processors.begin(), what.processors.end()));
        set = CPU_ALLOC(most + 1);
        set_size = CPU_ALLOC_SIZE(most + 1);
        CPU_ZERO_S(set_size, set);
        for (const int processor : what.processors) CPU_SET_S(static_cast<std::size_t>(processor), set_size, set);
    }
    const pid_t launcher = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) {
        if (set != nullptr) CPU_FREE(set);
        if (child > 0) ::setpgid(child, child);  // parent and child both do it, so that neither runs before it is done
        return child;
    }

    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(128 + SIGKILL);  // the launcher died before prctl()
    SpawnFailure failure{what.rank, 0, SpawnFailure::Step::descriptors};
    bool ready = place(what.input, STDIN_FILENO) && place(what.output, STDOUT_FILENO) && place(what.error, STDERR_FILENO) &&
                 ::fcntl(what.bootstrap, F_SETFD, 0) == 0;
    if (ready && set != nullptr) {
        failure.step = SpawnFailure::Step::binding;
        ready = ::sched_setaffinity(0, set_size, set) == 0;
    }
    if (ready) {
        failure.step = SpawnFailure::Step::program;
        what.inherited->restore();
        // execvpe() is not used, because it hands a file that the kernel does not know to /bin/sh.
        ::execve(what.path, argv.data(), environment.data());
    }
    failure.error = errno;
    [[maybe_unused]] const auto ignored = ::write(what.report, &failure, sizeof failure);
    ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> with_environment(std::vector<std::string> base, const std::vector<std::string>& more) {
    for (const std::string& assignment : more) {
        std::erase_if(base, [&](const std::string& old) { return name_of(old) == name_of(assignment); });
        base.push_back(assignment);
    }
    return base;
}

std::string shell_word(const std::string& word) {
    static constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%,";
    if (!word.empty() && word.find_first_not_of(kSafe) == std::string::npos) return word;
    std::string result = "'";
    for (const char one : word) result += one == '\'' ? std::string("'\\''") : std::string(1, one);
    return result + "'";
}

std::vector<std::string> own_environment() {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (!std::string_view(*entry).starts_with(bootstrap::kVariablePrefix)) all.emplace_back(*entry);
    }
    return all;
}

}  // namespace rollcall::launcher
