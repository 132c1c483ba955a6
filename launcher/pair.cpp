#include "launcher/pair.hpp"

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
#include <set>
#include <utility>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "foundation/process_limit.hpp"
#include "foundation/units.hpp"
#include "launcher/node.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/processes/leftovers.hpp"
#include "launcher/processes/spawn.hpp"

namespace rollcall::launcher {
namespace {

/// As in the guard: processes that SIGKILL has not ended by then are reported.
constexpr Timeout kKillLimit = std::chrono::seconds(10);
constexpr int kSignalsAtOnce = 16;
/// How long the guard may take to end what it has started, after the other side of the lifeline has gone.
constexpr Nanoseconds kHungUp = 1000 * kMillisecond;
/// A signal that comes again within this time is the same request: coreutils' timeout sends it to its child, and then to the child's
/// process group. A user who presses Ctrl-C twice is slower.
constexpr Nanoseconds kSameRequest = 200 * kMillisecond;

Descriptor open_process(pid_t process) {
    // The call is made by its number, because glibc declares pidfd_open only since 2.36.
    Descriptor opened(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!opened) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("the launcher cannot watch a process (pidfd_open, Linux 5.3 or newer): {}", error_text(errno)));
    }
    return opened;
}

/// Returns whether no shell can continue this process after a stop: its process group is orphaned, because nothing above it is in the same
/// session. The kernel does not stop other programs then, either.
bool is_orphaned() {
    const pid_t group = ::getpgrp(), session = ::getsid(0);
    for (pid_t parent = ::getppid(); parent > 0 && ::getsid(parent) == session; parent = parent_of(parent)) {
        if (::getpgid(parent) != group) return false;
    }
    return true;
}

/// Reaps what this process has adopted: as the first process of a container, or as the nearest reaper above the children that it had
/// before. Those children stay with the caller.
void reap_adopted(pid_t guard, const std::set<pid_t>& others) {
    siginfo_t ended{};
    // Without this look, each stop of the guard would cost a walk through /proc.
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    for (const pid_t child : children()) {
        if (child != guard && !others.contains(child)) ::waitpid(child, nullptr, WNOHANG);
    }
}

/// If a standard descriptor is closed, the next file that is opened takes its number, and a rank would inherit that file.
void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0) {
            [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
        }
    }
}

/// Restores what run_guarded() changes in its process.
class Changes {
  public:
    Changes() {
        ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper_);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        inherited.change(SIGCHLD, SIG_DFL);  // if SIGCHLD were ignored, no exit code would be kept
        ::sigemptyset(&watched);
        // A stop from the terminal (SIGTSTP) is for the whole job.
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP}) {
            struct sigaction action {};
            ::sigaction(signal, nullptr, &action);
            if (action.sa_handler != SIG_IGN) ::sigaddset(&watched, signal);  // a signal that nohup ignores stays ignored
        }
        // SIGCHLD tells that a child has stopped or ended.
        for (const int signal : {SIGCONT, SIGCHLD}) ::sigaddset(&watched, signal);
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

[[noreturn]] void guard(Guarded guarded, const std::function<int(Guarded&)>& body, const PairOptions& options) {
    ::prctl(PR_SET_NAME, "rollcall-guard");
    // SIGKILL to the front's process group must not reach the guard, because no process would then end what the ranks have started. A
    // signal before this call ends the guard too, but nothing has been started then.
    ::setpgid(0, 0);
    // The front passes signals on. A signal that also reaches the guard must not count twice. The guard must not be stopped because it
    // writes to the terminal or reads from it, either. Without SIGPIPE and SIGXFSZ (ulimit -f), a write that fails is an error.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU, SIGTSTP}) {
        guarded.inherited.change(signal, SIG_IGN);
    }
    guarded.inherited.raise_files();
    int code = 1;
    try {
        code = body(guarded);
    } catch (const std::exception& error) {
        // The front ends what is left.
        std::fprintf(stderr, "%s: %s\n", options.name, error.what());
    }
    // An agent whose front was stopped would stay forever.
    if (options.lifeline >= 0) ::kill(::getppid(), SIGCONT);
    ::_exit(code);
}

/// The front while its guard runs. It passes signals on, and ends a guard that is stopped for too long or whose lifeline has gone.
class Front {
  public:
    /// `others`: the children that this process had before.
    Front(pid_t guard, Descriptor signals, Descriptor commands, std::set<pid_t> others, Leftovers& leftovers, const PairOptions& options)
        : guard_(guard),
          ended_(open_process(guard)),
          signals_(std::move(signals)),
          commands_(std::move(commands)),
          others_(std::move(others)),
          leftovers_(leftovers),
          options_(options),
          wake_at_(deadline_after(options.limit)) {}

    /// Returns when the guard has ended.
    void watch() {
        for (bool has_ended = false; !has_ended;) {
            std::array<pollfd, 4> entries{{{ended_.get(), POLLIN, 0},
                                           {signals_.get(), POLLIN, 0},
                                           {commands_.get(), POLLIN, 0},
                                           {hung_up_ ? -1 : options_.lifeline, POLLRDHUP, 0}}};
            const Nanoseconds until = std::min({stopped_until_, hung_up_until_, is_stopped_ ? wake_at_ : kNever});
            const auto rest = until == kNever ? -1 : std::max<Nanoseconds>(0, until - monotonic_now()) / kMillisecond + 1;
            ::poll(entries.data(), entries.size(), static_cast<int>(std::min<Nanoseconds>(rest, 3'600'000)));
            has_ended = entries[0].revents != 0;
            take_signals();
            if (!hung_up_ && (entries[3].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) {
                hung_up_ = true;
                hung_up_until_ = monotonic_now() + kHungUp;
            }
            meet_deadlines();
            Leftovers::Found found;
            while (::recv(commands_.get(), &found, sizeof found, 0) == sizeof found) leftovers_.add(found);
            // The guard's socket closes some moments before the guard can be reaped.
            if ((entries[2].revents & POLLHUP) != 0) {
                pollfd last{ended_.get(), POLLIN, 0};
                while (::poll(&last, 1, -1) < 0 && errno == EINTR) {
                }
                has_ended = true;
            }
        }
    }

    /// Reaps the guard, and ends what it has left. Returns the exit code.
    int clean_up() {
        int status = 0;
        while (::waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
        }
        // A guard that ended well has left nothing. If it ended badly, or by an error, its descendants are now ours.
        const bool clean = kill_descendants(others_, kKillLimit);
        if (!clean) std::fprintf(stderr, "%s: some processes of the job cannot be ended\n", options_.name);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) leftovers_.remove(true);
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        const std::string how =
            stopped_too_long_ ? fmt::format("was stopped for {}, and could not watch over the job", exact_duration(longest_stop().count()))
                              : "was killed by " + describe_signal(WTERMSIG(status));
        std::fprintf(stderr, "%s: the launcher's guard process %s; the job is ended\n", options_.name, how.c_str());
        return 128 + WTERMSIG(status);
    }

  private:
    /// How long the guard may be stopped; 0: without end.
    Timeout longest_stop() const {
        return options_.shared_stopped != nullptr ? Timeout(options_.shared_stopped->load()) : options_.stopped;
    }

    void take_signals() {
        signalfd_siginfo signal;
        // The number is limited, so that a process that sends signals without end does not keep the loop from its other work.
        for (int i = 0; i < kSignalsAtOnce && ::read(signals_.get(), &signal, sizeof signal) == sizeof signal; ++i) {
            const auto number = static_cast<std::uint8_t>(signal.ssi_signo);
            if (number == SIGCHLD)
                look_at_guard();
            else if (number != SIGTSTP || !is_orphaned())
                pass_on(number);
        }
    }

    /// Takes stops and continuations only. clean_up() takes the end of the guard.
    void look_at_guard() {
        reap_adopted(guard_, others_);
        siginfo_t state{};
        if (::waitid(P_PID, static_cast<id_t>(guard_), &state, WSTOPPED | WCONTINUED | WNOHANG) != 0 || state.si_pid == 0) return;
        is_stopped_ = state.si_code == CLD_STOPPED;
        if (is_stopped_ && longest_stop().count() > 0) stopped_until_ = deadline_after(longest_stop());
        if (state.si_code == CLD_CONTINUED) stopped_until_ = kNever;
    }

    void pass_on(std::uint8_t number) {
        if (!asks_for_the_end(number)) {
            ::send(commands_.get(), &number, 1, MSG_NOSIGNAL);
        } else if (const Nanoseconds time = monotonic_now(); number != asked_ || time >= same_until_) {
            asked_ = number;
            if (number == SIGINT && options_.interrupted != nullptr) *options_.interrupted = true;
            same_until_ = time + kSameRequest;
            ::send(commands_.get(), &number, 1, MSG_NOSIGNAL);
        }
        if (number == SIGTSTP) ::raise(SIGSTOP);
        if (stopped_until_ == kNever) return;
        // The whole job was stopped, this process too. Its processes go on one after the other.
        if (number == SIGCONT) stopped_until_ = deadline_after(longest_stop());
        // The guard must run to end the job.
        if (asks_for_the_end(number)) ::kill(guard_, SIGCONT);
    }

    void meet_deadlines() {
        if (is_stopped_ && monotonic_now() >= wake_at_) {
            wake_at_ = kNever;
            ::kill(guard_, SIGCONT);
        }
        if (monotonic_now() >= std::min(stopped_until_, hung_up_until_)) {
            stopped_too_long_ = stopped_until_ <= hung_up_until_;
            stopped_until_ = hung_up_until_ = kNever;
            ::kill(guard_, SIGKILL);
        }
    }

    pid_t guard_;
    Descriptor ended_, signals_, commands_;
    std::set<pid_t> others_;
    Leftovers& leftovers_;
    const PairOptions& options_;
    Nanoseconds stopped_until_ = kNever, hung_up_until_ = kNever, wake_at_, same_until_ = 0;
    int asked_ = 0;  ///< The last signal that asked for the end.
    bool is_stopped_ = false, hung_up_ = false, stopped_too_long_ = false;
};

}  // namespace

bool asks_for_the_end(int signal) {
    return signal != SIGSTOP && signal != SIGTSTP && signal != SIGCONT && signal != SIGUSR1 && signal != SIGUSR2;
}

int run_guarded(const std::function<int(Guarded&)>& body, const PairOptions& options) {
    Guarded guarded;
    open_standard_descriptors();
    std::fflush(nullptr);
    Changes changes;
    guarded.inherited = changes.inherited;
    guarded.group = ::getpgrp();
    auto others = children();
    Leftovers leftovers(false);
    guarded.front = open_process(::getpid());
    Ends ends = make_sockets(SOCK_SEQPACKET |
                             SOCK_NONBLOCK);  // of this type, because a write to a guard that is gone then is an error and not a SIGPIPE
    if (!ends) throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot make a socket: {}", error_text(errno)));
    guarded.commands = std::move(ends.first);
    Descriptor commands = std::move(ends.second);
    Descriptor signals(::signalfd(-1, &changes.watched, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!signals) throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot watch for signals: {}", error_text(errno)));

    const pid_t process = ::fork();
    if (process < 0) {
        throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot fork: {}{}", error_text(errno), process_limit_advice(errno)));
    }
    if (process == 0) {
        commands.reset();
        guard(std::move(guarded), body, options);
    }
    guarded.commands.reset();
    guarded.front.reset();
    // If the guard dies and our standard error takes nothing, we must still end the job. (The ranks get what guarded.inherited has.)
    for (const int signal : {SIGPIPE, SIGXFSZ}) changes.inherited.change(signal, SIG_IGN);
    Front front(process, std::move(signals), std::move(commands), std::move(others), leftovers, options);
    front.watch();
    return front.clean_up();
}

}  // namespace rollcall::launcher
