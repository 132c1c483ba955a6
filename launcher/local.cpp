#include "launcher/local.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <rollcall/error.hpp>

#include "launcher/clock.hpp"
#include "launcher/descendants.hpp"
#include "launcher/job.hpp"
#include "launcher/leftovers.hpp"
#include "launcher/spawn.hpp"

namespace rollcall::launcher {
namespace {

using bootstrap::Descriptor;

/// As in the guard: what SIGKILL does not end within this is reported.
constexpr Timeout kKillLimit = std::chrono::seconds(10);

Descriptor open_process(pid_t process) {
    // By number: glibc declares pidfd_open only since 2.36.
    Descriptor opened(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!opened) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("the launcher cannot watch a process (pidfd_open, Linux 5.3 or newer): {}", std::strerror(errno)));
    }
    return opened;
}

/// A closed standard descriptor would be taken by the next one opened, and a rank would get that.
void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0) {
            [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
        }
    }
}

/// Puts back what run() changes in its process.
class Changes {
  public:
    Changes() {
        ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper_);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        inherited.change(SIGCHLD, SIG_DFL);  // were it ignored, no exit code would be kept
        ::sigemptyset(&watched);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
            struct sigaction action {};
            ::sigaction(signal, nullptr, &action);
            if (action.sa_handler != SIG_IGN) ::sigaddset(&watched, signal);  // nohup stays nohup
        }
        ::pthread_sigmask(SIG_BLOCK, &watched, &inherited.mask);
    }
    ~Changes() {
        inherited.restore();
        ::prctl(PR_SET_CHILD_SUBREAPER, subreaper_);
    }
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;

    Inherited inherited;
    sigset_t watched{};

  private:
    int subreaper_ = 0;
};

[[noreturn]] void guard(Guarded guarded) {
    ::prctl(PR_SET_NAME, "rollcall-guard");
    int code = 1;
    try {
        Job job(std::move(guarded));
        code = job.run();
    } catch (const std::exception& error) {
        // The front ends what is left.
        std::fprintf(stderr, "rollcall run: %s\n", error.what());
    }
    ::_exit(code);
}

}  // namespace

int run(const LaunchOptions& options) {
    if (options.applications.empty()) throw Error(ErrorCode::invalid_argument, "a job needs at least one application");
    int ranks = 0;
    Guarded guarded;
    guarded.options = &options;
    for (const Application& application : options.applications) {
        if (application.argv.empty()) throw Error(ErrorCode::invalid_argument, "an application needs a program");
        if (application.ranks < 1 || application.ranks > kMostRanks - ranks) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} ranks of '{}': a job has 1 to {}", application.ranks, application.argv[0], kMostRanks));
        }
        ranks += application.ranks;
        const auto environment = with_environment(with_environment(own_environment(), options.environment), application.environment);
        Found found = find_program(application.argv[0], environment);
        if (found.error != 0) {
            std::fprintf(stderr, "rollcall run: cannot start '%s': %s\n", application.argv[0].c_str(),
                         found.error == ENOENT && application.argv[0].find('/') == std::string::npos ? "there is no such program in PATH"
                                                                                                     : std::strerror(found.error));
            return found.error == EACCES ? kExitNotExecutable : kExitNotFound;
        }
        guarded.programs.push_back(std::move(found.path));
    }

    open_standard_descriptors();
    std::fflush(nullptr);
    const Changes changes;
    guarded.inherited = changes.inherited;
    const auto others = children();
    Leftovers leftovers(false);
    guarded.front = open_process(::getpid());
    int ends[2];  // sockets: writing to a guard that is gone must not be a SIGPIPE
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot make a socket: {}", std::strerror(errno)));
    }
    guarded.commands.reset(ends[0]);
    Descriptor commands(ends[1]);
    const Descriptor signals(::signalfd(-1, &changes.watched, SFD_NONBLOCK | SFD_CLOEXEC));

    const pid_t process = ::fork();
    if (process < 0) {
        throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot fork: {}", std::strerror(errno)));
    }
    if (process == 0) {
        commands.reset();
        guard(std::move(guarded));
    }
    guarded.commands.reset();
    guarded.front.reset();
    const Descriptor ended = open_process(process);

    for (bool ended_now = false; !ended_now;) {
        std::array<pollfd, 3> entries{{{ended.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}, {commands.get(), POLLIN, 0}}};
        ::poll(entries.data(), entries.size(), -1);
        ended_now = entries[0].revents != 0;
        signalfd_siginfo signal;
        while (::read(signals.get(), &signal, sizeof signal) == sizeof signal) {
            const auto number = static_cast<std::uint8_t>(signal.ssi_signo);
            ::send(commands.get(), &number, 1, MSG_NOSIGNAL);
        }
        Leftovers::Found found;
        while (::recv(commands.get(), &found, sizeof found, 0) == sizeof found) leftovers.add(found);
        // The guard's end closes some moments before the guard can be reaped.
        if ((entries[2].revents & POLLHUP) != 0) {
            pollfd last{ended.get(), POLLIN, 0};
            while (::poll(&last, 1, -1) < 0 && errno == EINTR) {
            }
            ended_now = true;
        }
    }

    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    // A guard that ended well has left nothing; what another one left is ours now.
    const bool clean = kill_descendants(others, kKillLimit);
    if (!clean) std::fprintf(stderr, "rollcall run: some processes of the job cannot be ended\n");
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    leftovers.remove();
    std::fprintf(stderr, "rollcall run: the launcher's guard process was killed by signal %d (%s); the job is ended\n", WTERMSIG(status),
                 ::strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
}

}  // namespace rollcall::launcher
