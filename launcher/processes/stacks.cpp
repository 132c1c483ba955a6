#include "launcher/processes/stacks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "foundation/error_text.hpp"
#include "foundation/process_limit.hpp"

namespace rollcall::launcher {

pid_t start_tracer(const std::vector<std::pair<int, pid_t>>& ranks, const Inherited& inherited, std::string& why_not) {
    const Found gdb = find_program("gdb", own_environment());
    if (gdb.error != 0) {
        why_not = "has no gdb in PATH";
        return -1;
    }
    const auto count = std::min(ranks.size(), kMostTraced);
    std::string script;
    for (std::size_t i = 0; i < count; ++i) {
        script += fmt::format(
            "echo '--- rank {}, process {}'\n{} -p {} -batch -nx -ex 'set pagination off' -ex 'thread apply all bt' 2>&1 | "
            "grep -E '^(#|Thread|.*ptrace)'\n",
            ranks[i].first, ranks[i].second, shell_word(gdb.path), ranks[i].second);
    }
    if (count < ranks.size()) script += fmt::format("echo '--- and {} more ranks on this host'\n", ranks.size() - count);
    const pid_t guard = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) why_not = fmt::format("cannot start gdb: {}{}", error_text(errno), process_limit_advice(errno));
    if (child != 0) return child;
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != guard) ::_exit(1);
    const int null = ::open("/dev/null", O_RDONLY);
    if (null >= 0) ::dup2(null, STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    inherited.restore();  // if the shell ignored SIGTERM as the guard does, it would start one gdb after the other while the job ends
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(1);
}

}  // namespace rollcall::launcher
