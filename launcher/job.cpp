#include "launcher/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include <rollcall/error.hpp>

#include "launcher/clock.hpp"
#include "launcher/descendants.hpp"

namespace rollcall::launcher {
namespace {

using bootstrap::Blob;
using bootstrap::Descriptor;
using bootstrap::Frame;
using bootstrap::FrameReader;
using bootstrap::FrameType;
using bootstrap::FrameWriter;
using bootstrap::Inbox;
using bootstrap::Notice;
using bootstrap::Outbox;

/// A process that dies closes its sockets some moments before its death can be reaped, and the death says more. After
/// this long the closed connection is news by itself.
constexpr Nanoseconds kClosedBeforeDeath = 200 * kMillisecond;
/// SIGKILL is sent again after this: a process may have forked while it was sent.
constexpr Nanoseconds kKillAgain = 10 * kMillisecond;
/// Processes that do not die of SIGKILL within this (they hang in the kernel, or are another user's) are reported
/// instead.
constexpr Timeout kKillLimit = std::chrono::seconds(10);

/// A job that was ended from outside waits this long, or its two graces, for its output to be taken.
constexpr Timeout kLeastFlush = std::chrono::seconds(1);

[[noreturn]] void cannot(const char* what) {
    throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot {}: {}", what, std::strerror(errno)));
}

struct Pair {
    Descriptor first;
    Descriptor second;
};

Pair make_sockets(int type) {
    int ends[2];
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) cannot("make a socket");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Pair make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) cannot("make a pipe");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void unblock(const Descriptor& descriptor) { ::fcntl(descriptor.get(), F_SETFL, O_NONBLOCK); }

std::string describe(int signal) {
    const char* const text = ::sigdescr_np(signal);
    return fmt::format("signal {} ({})", signal, text != nullptr ? text : "unknown");
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

struct Job::Rank {
    int rank = 0;
    const std::string* program = nullptr;  // as the user wrote it
    pid_t process = -1;
    bool alive = false;
    bool joined = false;
    bool left = false;
    bool lost = false;  // the others know
    Descriptor control;
    Inbox inbox{bootstrap::kLongestRequest};
    Outbox outbox;
    bool sending = false;  // the poller waits for room in control
    Nanoseconds closed_at = kNever;
    Descriptor notices;
    std::deque<std::shared_ptr<const Blob>> unsent_notices;
    bool noticing = false;  // the poller waits for room in notices
};

Job::Job(Guarded guarded)
    : guarded_(std::move(guarded)),
      options_(*guarded_.options),
      host_(host_name()),
      job_(fmt::format("{}-{}-{:x}", host_, ::getpid(), now())),
      output_(poller_, STDOUT_FILENO, STDERR_FILENO, options_.tag_output),
      leftovers_(true),
      rounds_(std::accumulate(options_.applications.begin(), options_.applications.end(), 0,
                              [](int sum, const Application& application) { return sum + application.ranks; })),
      stage_until_(kNever),
      ended_at_(after(options_.timeout)),
      flush_until_(kNever) {}

Job::~Job() = default;

int Job::run() {
    try {
        start();
    } catch (const Error& error) {
        end(1, error.what(), SIGKILL);
    }
    while (living_ > 0) step();
    return finish();
}

void Job::start() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) cannot("become the reaper of the job's processes");
    if (rlimit files{}; ::getrlimit(RLIMIT_NOFILE, &files) == 0) {  // four descriptors a rank
        guarded_.inherited.files = files;
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
    }
    // The front passes signals on. What the terminal sends to both of us must not count twice, and a guard that stops
    // because it writes to or reads from the terminal helps nobody.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTTIN, SIGTTOU}) {
        guarded_.inherited.change(signal, SIG_IGN);
    }
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
    deaths_.reset(::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
    null_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!deaths_ || !null_) cannot("open what it needs");
    auto report = make_pipe();
    unblock(report.first);
    report_ = std::move(report.first);
    report_write_ = std::move(report.second);

    poller_.add(deaths_.get(), EPOLLIN, [this](std::uint32_t) { reap(); });
    poller_.add(guarded_.commands.get(), EPOLLIN, [this](std::uint32_t) {
        std::uint8_t signal = 0;
        while (::read(guarded_.commands.get(), &signal, 1) == 1) signalled(signal);
    });
    poller_.add(guarded_.front.get(), EPOLLIN, [this](std::uint32_t) {
        poller_.remove(guarded_.front.get());
        poller_.remove(guarded_.commands.get());
        code_ = 128 + SIGKILL;
        flush_until_ = 0;
        kill();
    });
    if (leftovers_.descriptor() >= 0) {
        poller_.add(leftovers_.descriptor(), EPOLLIN, [this](std::uint32_t) { leftovers_.noticed(); });
    }

    const int size = rounds_.ranks();
    for (int index = 0; index < size; ++index) {
        ranks_.push_back(std::make_unique<Rank>());
        ranks_.back()->rank = index;
    }
    const auto cpus = options_.bind == Bind::core ? processors() : std::vector<int>{};
    const auto base = with_environment(own_environment(), options_.environment);
    std::size_t index = 0;
    for (std::size_t i = 0; i < options_.applications.size(); ++i) {
        const Application& application = options_.applications[i];
        const auto environment = with_environment(base, application.environment);
        for (int n = 0; n < application.ranks; ++n, ++index) {
            std::optional<int> processor;
            if (!cpus.empty()) processor = cpus[index % cpus.size()];
            start(*ranks_[index], guarded_.programs[i], application, environment, processor);
        }
    }
}

void Job::start(Rank& rank, const std::string& path, const Application& application, const std::vector<std::string>& environment,
                std::optional<int> processor) {
    rank.program = &application.argv.front();
    auto control = make_sockets(SOCK_STREAM);
    auto notices = make_sockets(SOCK_SEQPACKET);
    auto out = make_pipe();
    auto error = make_pipe();
    Pair input;
    int in = null_.get();
    if (rank.rank == 0) {
        in = STDIN_FILENO;
        if (::isatty(STDIN_FILENO) != 0) {
            input = make_pipe();
            in = input.first.get();
        }
    }
    welcome(rank, control.first, notices.second);

    const auto own = with_environment(
        environment,
        {fmt::format("{}={}", bootstrap::kDescriptorVariable, control.second.get()), fmt::format("{}={}", bootstrap::kJobVariable, job_),
         fmt::format("{}={}", bootstrap::kRankVariable, rank.rank), fmt::format("{}={}", bootstrap::kSizeVariable, ranks_.size())});
    Spawn what;
    what.path = path.c_str();
    what.argv = &application.argv;
    what.environment = &own;
    what.input = in;
    what.output = out.second.get();
    what.error = error.second.get();
    what.bootstrap = control.second.get();
    what.report = report_write_.get();
    what.rank = rank.rank;
    what.processor = processor;
    what.inherited = &guarded_.inherited;
    rank.process = spawn(what);
    if (rank.process < 0) cannot(fmt::format("start the process of rank {}", rank.rank).c_str());
    rank.alive = true;
    ++living_;

    rank.control = std::move(control.first);
    rank.notices = std::move(notices.first);
    poller_.add(rank.control.get(), EPOLLIN, [this, &rank](std::uint32_t) {
        hear(rank);
        send(rank);
    });
    unblock(out.first);
    unblock(error.first);
    output_.add(rank.rank, false, std::move(out.first));
    output_.add(rank.rank, true, std::move(error.first));
    if (input.second) terminal_ = std::make_unique<Terminal>(poller_, STDIN_FILENO, std::move(input.second));
}

void Job::welcome(const Rank& rank, const Descriptor& control, const Descriptor& notices) const {
    bootstrap::Place place;
    place.rank = place.local_rank = rank.rank;
    place.size = place.local_size = static_cast<int>(ranks_.size());
    place.job = job_;
    place.host = host_;
    Blob frame = bootstrap::encode_welcome(place);
    iovec vector{frame.data(), frame.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int passed = notices.get();
    std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
    const ssize_t sent = ::sendmsg(control.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(frame.size())) cannot("welcome a rank");
}

void Job::step() {
    Nanoseconds until = std::min({stage_until_, output_.tick_at(), leftovers_.look_at()});
    if (living_ == 0) until = std::min(until, flush_until_);
    if (living_ > 0 && stage_ == Stage::running) until = std::min(until, ended_at_);
    if (terminal_) until = std::min(until, terminal_->retry_at());
    for (const auto& rank : ranks_) {
        if (rank->alive && rank->closed_at != kNever) until = std::min(until, rank->closed_at + kClosedBeforeDeath);
    }
    poller_.wait(until);

    const Nanoseconds time = now();
    if (output_.tick_at() <= time) output_.tick();
    if (leftovers_.look_at() <= time) look_for_leftovers();
    if (terminal_ && terminal_->retry_at() <= time) terminal_->retry();
    if (living_ == 0) return;
    for (const auto& rank : ranks_) {
        if (rank->alive && rank->closed_at != kNever && rank->closed_at + kClosedBeforeDeath <= time) {
            rank->closed_at = kNever;
            lose(*rank, fmt::format("closed its connection to the launcher before it {} the job", rank->joined ? "left" : "joined"));
        }
    }
    if (stage_ == Stage::running && ended_at_ <= time) {
        const double seconds = std::chrono::duration<double>(options_.timeout).count();
        limit_flush();
        end(kExitTimeout, fmt::format("the job has not ended within its time limit of {:g} s", seconds), SIGTERM);
    }
    if (stage_ == Stage::reporting && (stage_until_ <= time || !anyone_to_report())) {
        terminate(SIGTERM);
    } else if (stage_ >= Stage::terminating && stage_until_ <= time) {
        kill();
    }
}

void Job::hear(Rank& rank) {
    if (!rank.control) return;
    bool open = rank.inbox.receive(rank.control.get()) == Inbox::State::open;
    try {
        while (auto frame = rank.inbox.next()) handle(rank, *frame);
    } catch (const Error& error) {
        output_.say(fmt::format("rollcall run: {}: {}", who(rank), error.what()));
        open = false;
    }
    if (open) return;
    poller_.remove(rank.control.get());
    rank.control.reset();
    if (!rank.left) rank.closed_at = now();
}

void Job::handle(Rank& rank, const Frame& frame) {
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::join: rank.joined = true; return;
        case FrameType::exchange: {
            const auto sequence = reader.u64();
            const auto bytes = reader.blob();
            reader.end();
            answer(rounds_.arrive(rank.rank, Rounds::Kind::exchange, sequence, Blob(bytes.begin(), bytes.end())));
            return;
        }
        case FrameType::barrier: {
            const auto sequence = reader.u64();
            reader.end();
            answer(rounds_.arrive(rank.rank, Rounds::Kind::barrier, sequence, {}));
            return;
        }
        case FrameType::leave:
            rank.left = true;
            answer(rounds_.lose(rank.rank, who(rank) + " has left the job"));
            return;
        case FrameType::abort: {
            const int code = reader.i32() & 0xff;
            const std::string why = reader.text();
            reader.end();
            // An aborted job has failed, whatever code it was given.
            end(code == 0 ? 1 : code, fmt::format("{} aborted the job with code {}: {}", who(rank), code, why), SIGTERM);
            return;
        }
        default:
            throw Error(ErrorCode::bootstrap,
                        fmt::format("it sent a frame of type {}, which is not for launchers", static_cast<int>(frame.type)));
    }
}

void Job::answer(const std::vector<Rounds::Answer>& answers) {
    for (const auto& one : answers) {
        Rank& rank = *ranks_[static_cast<std::size_t>(one.rank)];
        if (!rank.control) continue;
        rank.outbox.add(one.frame);
        send(rank);
    }
}

void Job::send(Rank& rank) {
    if (!rank.control) return;
    rank.outbox.send(rank.control.get());  // a closed connection shows at the next read
    const bool sending = !rank.outbox.empty();
    if (sending == rank.sending) return;
    rank.sending = sending;
    poller_.change(rank.control.get(), sending ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Job::notify(const Notice& notice, int except) {
    const auto record = std::make_shared<const Blob>(bootstrap::encode_notice(notice));
    for (const auto& rank : ranks_) {
        if (!rank->alive || rank->rank == except || !rank->notices) continue;
        rank->unsent_notices.push_back(record);
        send_notices(*rank);
    }
}

void Job::send_notices(Rank& rank) {
    while (!rank.unsent_notices.empty()) {
        const Blob& record = *rank.unsent_notices.front();
        if (::send(rank.notices.get(), record.data(), record.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
            (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        rank.unsent_notices.pop_front();
    }
    const bool waits = !rank.unsent_notices.empty();
    if (waits == rank.noticing) return;
    rank.noticing = waits;
    if (waits) {
        poller_.add(rank.notices.get(), EPOLLOUT, [this, &rank](std::uint32_t) { send_notices(rank); });
    } else {
        poller_.remove(rank.notices.get());
    }
}

void Job::reap() {
    signalfd_siginfo ignored;
    while (::read(deaths_.get(), &ignored, sizeof ignored) > 0) {
    }
    std::vector<std::pair<Rank*, int>> dead;
    int status = 0;
    for (pid_t process; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto found =
            std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& rank) { return rank->alive && rank->process == process; });
        if (found != ranks_.end()) dead.emplace_back(found->get(), status);  // others were adopted
    }
    // What a rank said before it died comes first.
    for (const auto& [rank, how] : dead) hear(*rank);
    // Of deaths that are seen together a signal is likelier to be the cause, and a code its consequence, than the
    // reverse.
    std::sort(dead.begin(), dead.end(), [](const auto& a, const auto& b) {
        return std::pair(!WIFSIGNALED(a.second), a.first->rank) < std::pair(!WIFSIGNALED(b.second), b.first->rank);
    });
    for (const auto& [rank, how] : dead) {
        rank->alive = false;
        --living_;
    }
    for (const auto& [rank, how] : dead) exited(*rank, how);
}

void Job::exited(Rank& rank, int status) {
    std::string how;
    int code = 0;
    for (std::array<int, 2> report{}; ::read(report_.get(), report.data(), sizeof report) == sizeof report;) {
        not_started_[report[0]] = report[1];
    }
    if (WIFSIGNALED(status)) {
        how = "was killed by " + describe(WTERMSIG(status));
        code = 128 + WTERMSIG(status);
    } else if (const auto failed = not_started_.find(rank.rank); failed != not_started_.end()) {
        how = fmt::format("could not start '{}': {}", *rank.program, std::strerror(failed->second));
        code = failed->second == ENOENT ? kExitNotFound : kExitNotExecutable;
    } else if (WEXITSTATUS(status) != 0) {
        code = WEXITSTATUS(status);
        how = fmt::format("exited with code {}", code);
    } else if (!rank.left) {
        how = fmt::format("exited with code 0 before it {} the job", rank.joined ? "left" : "joined");
        if (early_.empty() && rank.joined) early_ = fmt::format("{} {}", who(rank), how);
    }
    if (!how.empty()) lose(rank, how);
    if (rank.control) poller_.remove(rank.control.get());
    rank.control.reset();
    if (rank.noticing) poller_.remove(rank.notices.get());
    rank.noticing = false;
    rank.notices.reset();
    rank.unsent_notices.clear();
    if (code != 0) fail(code, fmt::format("{} {}", who(rank), how));
}

void Job::lose(Rank& rank, const std::string& how) {
    if (rank.lost) return;
    rank.lost = true;
    answer(rounds_.lose(rank.rank, fmt::format("{} {}", who(rank), how)));
    notify({rank.rank, how}, rank.rank);
}

std::string Job::who(const Rank& rank) const { return fmt::format("rank {} on host {}", rank.rank, host_); }

bool Job::anyone_to_report() const {
    // One that has not joined yet may be about to, where others have; one that has left has its last words still to flush.
    // Ordinary programs have nothing to report.
    const bool any_joined = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->joined; });
    return any_joined && std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->alive; });
}

void Job::look_for_leftovers() {
    // The front removes them if this process cannot.
    for (const auto& found : leftovers_.look()) {
        ::send(guarded_.commands.get(), &found, sizeof found, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void Job::limit_flush() {
    if (options_.grace < kForever / 4) flush_until_ = after(std::max<Timeout>(2 * options_.grace, kLeastFlush));
}

void Job::fail(int code, const std::string& sentence) {
    if (stage_ != Stage::running) return;  // a consequence
    stage_ = Stage::reporting;
    code_ = code;
    stage_until_ = after(options_.grace);
    if (!early_.empty()) output_.say("rollcall run: " + early_);
    output_.say(fmt::format("rollcall run: {}{}", sentence, living_ > 0 ? "; the job is ended" : ""));
}

void Job::end(int code, const std::string& sentence, int signal) {
    if (stage_ != Stage::running) return;
    code_ = code;
    output_.say("rollcall run: " + sentence);
    notify({-1, "is being ended: " + sentence}, -1);
    if (signal == SIGKILL) {
        kill();
    } else {
        terminate(signal);
    }
}

void Job::terminate(int signal) {
    stage_ = Stage::terminating;
    stage_until_ = after(options_.grace);
    look_for_leftovers();
    for (const pid_t process : descendants(::getpid())) {
        ::kill(process, signal);
        ::kill(process, SIGCONT);  // a stopped process would sleep through its grace
    }
}

void Job::kill() {
    if (stage_ != Stage::killing) look_for_leftovers();
    stage_ = Stage::killing;
    stage_until_ = now() + kKillAgain;
    for (const pid_t process : descendants(::getpid())) ::kill(process, SIGKILL);
}

void Job::signalled(int signal) {
    if (living_ == 0) {
        flush_until_ = 0;  // nothing is left but output that nobody takes
        return;
    }
    limit_flush();
    if (stage_ == Stage::running) {
        end(128 + signal, "ended by " + describe(signal), signal);
    } else if (stage_ == Stage::reporting) {
        terminate(signal);
    } else {
        flush_until_ = 0;
        kill();
    }
}

int Job::finish() {
    stage_until_ = kNever;
    if (!kill_descendants({}, kKillLimit)) {
        output_.say(fmt::format("rollcall run: {} processes of the job cannot be ended", descendants(::getpid()).size()));
    }
    if (code_ != 0) leftovers_.remove();
    output_.finish();
    while (!output_.idle() && now() < flush_until_) step();
    if (!output_.failure().empty()) {
        output_.say("rollcall run: " + output_.failure());
        if (code_ == 0) code_ = 1;
    }
    return code_;
}

}  // namespace rollcall::launcher
