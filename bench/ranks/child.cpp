#include "bench/ranks/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <rollcall/error.hpp>
#include <utility>

#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "launcher/spawn.hpp"

extern char** environ;

namespace rollcall::bench {
namespace {

[[noreturn]] void fail(const std::string& program, int error) {
    throw Error(ErrorCode::state, fmt::format("{} cannot be run: {}", program, error_text(error)));
}

struct Pipe {
    Descriptor ours, childs;
};

// Uses sockets, because send() can be told not to raise SIGPIPE, while write() on a pipe cannot.
Pipe open_pipe(const std::string& program) {
    Ends ends = make_sockets(SOCK_STREAM);
    if (!ends) fail(program, errno);
    return {std::move(ends.first), std::move(ends.second)};
}

struct Streams {
    int input, output, errors;
};

/// While it lives, the signals that ask this process to end are read from a descriptor. Those that it ignores remain ignored.
class SignalsToEnd {
  public:
    explicit SignalsToEnd(bool taken) {
        ::sigset_t watched;
        ::sigemptyset(&watched);
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction present {};
            if (taken && ::sigaction(number, nullptr, &present) == 0 && present.sa_handler != SIG_IGN) ::sigaddset(&watched, number);
        }
        ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
        descriptor_.reset(taken ? ::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC) : -1);
    }
    ~SignalsToEnd() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsToEnd(const SignalsToEnd&) = delete;
    SignalsToEnd& operator=(const SignalsToEnd&) = delete;

    int descriptor() const { return descriptor_.get(); }
    /// The mask of a child.
    const ::sigset_t& before() const { return before_; }
    /// Returns the next signal, or 0. `from_keyboard`: the child has got it, too.
    int next(bool& from_keyboard) const {
        signalfd_siginfo signal;
        if (::read(descriptor_.get(), &signal, sizeof signal) != sizeof signal) return 0;
        from_keyboard = signal.ssi_code == SI_KERNEL;
        return static_cast<int>(signal.ssi_signo);
    }

  private:
    ::sigset_t before_;
    Descriptor descriptor_;
};

/// Starts a program that ends when the calling thread ends, however it ends. Returns the process, or -1 with the reason in errno.
pid_t start(const std::vector<char*>& argv, const std::vector<char*>& environment, const Streams& streams, const ::sigset_t& signals) {
    Ends reports = make_pipe();
    if (!reports) return -1;
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        // Only system calls from here on, because other threads may have held locks. The signal is not SIGKILL: on SIGTERM a launcher of an
        // MPI library ends its ranks, on this host and on others.
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
        if (::getppid() != parent) ::_exit(128 + SIGTERM);  // the parent died before prctl()
        if (::dup2(streams.input, STDIN_FILENO) >= 0 && ::dup2(streams.output, STDOUT_FILENO) >= 0 &&
            ::dup2(streams.errors, STDERR_FILENO) >= 0)
            ::execvpe(argv[0], argv.data(), environment.data());
        const int why = errno;
        [[maybe_unused]] const auto ignored = ::write(reports.second.get(), &why, sizeof why);
        ::_exit(127);
    }
    if (child < 0) return -1;
    reports.second.reset();
    int why = 0;
    ssize_t count = 0;
    do count = ::read(reports.first.get(), &why, sizeof why);
    while (count < 0 && errno == EINTR);
    if (count != sizeof why) return child;  // the pipe was closed when the program began
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    errno = why;
    return -1;
}

/// Reads the bytes that are available. Returns false at the end of the stream.
bool read_some(const Descriptor& from, std::string& into) {
    std::array<char, 65536> buffer;
    const ssize_t count = ::recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, std::string_view input, const ChildOptions& options) {
    using Clock = std::chrono::steady_clock;
    bool limited = options.timeout != kForever;
    auto deadline = limited ? Clock::now() + options.timeout : Clock::time_point::max();
    const std::string& program = arguments.at(0);
    Pipe in = open_pipe(program), out = open_pipe(program), errors = open_pipe(program);

    std::vector<std::string> own;
    for (char** entry = environ; *entry != nullptr; ++entry) own.emplace_back(*entry);
    const std::vector<std::string> environment = launcher::with_environment(std::move(own), options.environment);

    const SignalsToEnd signals(options.takes_signals);
    const pid_t child = start(launcher::pointers(arguments), launcher::pointers(environment),
                              {in.childs.get(), out.childs.get(), errors.childs.get()}, signals.before());
    ChildResult result;
    if (child < 0 && errno == ENOENT) return result;
    if (child < 0) fail(program, errno);
    result.found = true;
    in.childs.reset();
    out.childs.reset();
    errors.childs.reset();

    bool is_ending = false;
    const auto end = [&](bool it_knows) {
        if (!it_knows) ::kill(child, SIGTERM);
        is_ending = limited = true;
        deadline = Clock::now() + kChildGrace;
    };
    // Serves all three streams at once. Otherwise a child that prints before it has read all its input could deadlock with this process.
    for (;;) {
        if (in.ours.get() >= 0 && input.empty()) in.ours.reset();
        std::array<pollfd, 4> descriptors{
            {{in.ours.get(), POLLOUT, 0}, {out.ours.get(), POLLIN, 0}, {errors.ours.get(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
        if (out.ours.get() < 0 && errors.ours.get() < 0) break;
        int limit = -1;
        if (limited) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
            limit = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
            if (left <= 0) {
                if (is_ending) {
                    ::kill(child, SIGKILL);
                    break;
                }
                result.timed_out = true;
                end(false);
                continue;
            }
        }
        if (::poll(descriptors.data(), descriptors.size(), limit) < 0 && errno != EINTR) break;
        bool from_keyboard = false;
        if (const int signal = descriptors[3].revents != 0 ? signals.next(from_keyboard) : 0; signal != 0 && !is_ending) {
            result.interrupted = signal;
            end(from_keyboard);
        }
        if (descriptors[0].revents != 0) {
            const ssize_t count = ::send(in.ours.get(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count > 0) input.remove_prefix(static_cast<std::size_t>(count));
            if (count < 0 && errno != EAGAIN && errno != EINTR) input = {};  // the child no longer reads; its exit code gives the reason
        }
        if (descriptors[1].revents != 0 && !read_some(out.ours, result.output)) out.ours.reset();
        if (descriptors[2].revents != 0 && !read_some(errors.ours, result.errors)) errors.ours.reset();
    }
    in.ours.reset();

    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail(program, errno);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

}  // namespace rollcall::bench
