#include "bench/ranks/child.hpp"

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
#include <chrono>
#include <rollcall/error.hpp>
#include <utility>

#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "launcher/processes/spawn.hpp"

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

SignalsToEnd::SignalsToEnd() {
    ::sigset_t watched;
    ::sigemptyset(&watched);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction present {};
        if (::sigaction(number, nullptr, &present) == 0 && present.sa_handler != SIG_IGN) ::sigaddset(&watched, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
    descriptor_.reset(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
}

SignalsToEnd::~SignalsToEnd() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int SignalsToEnd::next(bool& from_keyboard) const {
    signalfd_siginfo signal;
    if (::read(descriptor_.get(), &signal, sizeof signal) != sizeof signal) return 0;
    from_keyboard = signal.ssi_code == SI_KERNEL;
    return static_cast<int>(signal.ssi_signo);
}

int SignalsToEnd::wait_for(std::chrono::milliseconds time) const {
    pollfd descriptor{descriptor_.get(), POLLIN, 0};
    ::poll(&descriptor, 1, static_cast<int>(time.count()));
    bool from_keyboard = false;
    return next(from_keyboard);
}

Child::Child(const std::vector<std::string>& arguments, const ChildOptions& options)
    : program_(arguments.at(0)), signals_(options.signals), deadline_(deadline_after(options.timeout)) {
    Pipe in = open_pipe(program_), out = open_pipe(program_), errors = open_pipe(program_);

    std::vector<std::string> own;
    for (char** entry = environ; *entry != nullptr; ++entry) own.emplace_back(*entry);
    const std::vector<std::string> environment = launcher::with_environment(std::move(own), options.environment);

    ::sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    process_ = start(launcher::pointers(arguments), launcher::pointers(environment),
                     {in.childs.get(), out.childs.get(), errors.childs.get()}, signals_ != nullptr ? signals_->before() : mask);
    if (process_ < 0 && errno != ENOENT) fail(program_, errno);
    input_ = std::move(in.ours);
    output_ = std::move(out.ours);
    errors_ = std::move(errors.ours);
}

Child::~Child() {
    if (process_ < 0) return;
    end();
    ChildResult ignored;
    try {
        serve({}, ignored);
    } catch (const std::exception&) {  // there is no memory for what it prints, which nobody reads
        ::kill(process_, SIGKILL);
    }
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Child::end() {
    ::kill(process_, SIGTERM);
    end_soon();
}

void Child::end_soon() {
    is_ending_ = true;
    deadline_ = deadline_after(kChildGrace);
}

/// Serves all three streams at once until the child has closed its own two and has ended. Otherwise a child that prints before it has read
/// all its input could deadlock with this process.
void Child::serve(std::string_view input, ChildResult& result) {
    Descriptor process_end;
    for (;;) {
        if (input.empty()) input_.reset();
        if (!process_end && !output_ && !errors_) {
            process_end.reset(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
            if (!process_end) break;  // waitpid() waits as well, but without a limit
        }
        std::array<pollfd, 5> descriptors{{{input_.get(), POLLOUT, 0},
                                           {output_.get(), POLLIN, 0},
                                           {errors_.get(), POLLIN, 0},
                                           {signals_ != nullptr ? signals_->descriptor() : -1, POLLIN, 0},
                                           {process_end.get(), POLLIN, 0}}};
        int limit = -1;
        if (deadline_ != kNever) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(deadline_ - monotonic_now())).count();
            limit = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
            if (left <= 0) {
                if (is_ending_) {
                    ::kill(process_, SIGKILL);
                    break;
                }
                result.timed_out = true;
                end();
                continue;
            }
        }
        if (::poll(descriptors.data(), descriptors.size(), limit) < 0 && errno != EINTR) break;
        if (descriptors[4].revents != 0) break;
        bool from_keyboard = false;
        if (const int signal = descriptors[3].revents != 0 ? signals_->next(from_keyboard) : 0; signal != 0 && !is_ending_) {
            result.interrupted = signal;
            from_keyboard ? end_soon() : end();
        }
        if (descriptors[0].revents != 0) {
            const ssize_t count = ::send(input_.get(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count > 0) input.remove_prefix(static_cast<std::size_t>(count));
            if (count < 0 && errno != EAGAIN && errno != EINTR) input = {};  // the child no longer reads; its exit code gives the reason
        }
        if (descriptors[1].revents != 0 && !read_some(output_, result.output)) output_.reset();
        if (descriptors[2].revents != 0 && !read_some(errors_, result.errors)) errors_.reset();
    }
    input_.reset();
}

ChildResult Child::finish(std::string_view input) {
    ChildResult result;
    if (process_ < 0) return result;
    result.found = true;
    serve(input, result);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0)
        if (errno != EINTR) fail(program_, errno);
    process_ = -1;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

ChildResult run_child(const std::vector<std::string>& arguments, std::string_view input, const ChildOptions& options) {
    return Child(arguments, options).finish(input);
}

}  // namespace rollcall::bench
