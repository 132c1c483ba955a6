#include "launcher/node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <rollcall/error.hpp>

#include "bootstrap/notice_queue.hpp"
#include "bootstrap/passing.hpp"
#include "bootstrap/starters/outer_environment.hpp"
#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "foundation/host_name.hpp"
#include "foundation/process_limit.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/program.hpp"
#include "launcher/streams/rank_input.hpp"
#include "runtime/topology/binding.hpp"

namespace rollcall::launcher {
namespace {

using bootstrap::Inbox;
using bootstrap::Outbox;

/// A process that dies closes its sockets some moments before its death can be reaped, and the death says more. If no death has been seen
/// after this time, the closed connection is reported by itself.
constexpr Nanoseconds kOutputClosedBeforeDeath = 200 * kMillisecond;

/// The launcher keeps these descriptors from the ranks, because it reads /proc to find the processes of a job that ends.
constexpr int kKeptDescriptors = 8;

[[noreturn]] void cannot(const std::string& what) {
    const char* const advice = errno == EMFILE
                                   ? "; raise the limit of open files (ulimit -n): the launcher takes 26, and four for each rank"
                                   : process_limit_advice(errno);
    throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot {}: {}{}", what, error_text(errno), advice));
}

Ends needed(Ends ends) {
    if (!ends) cannot("make a pipe or a socket");
    return ends;
}

void unblock(const Descriptor& descriptor) { ::fcntl(descriptor.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

std::string describe_signal(int signal) {
    // Not sigdescr_np(), which glibc has since 2.32. strsignal() may use one buffer for all threads; the launcher has one thread.
    return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

struct Node::Rank {
    Rank(Poller& poller, RankInput::Taken taken) : notices(poller), input(poller, std::move(taken)) {}

    const HostOrder::Rank* order = nullptr;
    const std::string* program = nullptr;  // as the user wrote it
    pid_t process = -1;
    bool alive = false;
    bool joined = false;
    bool left = false;
    std::string farewell;     // why it goes, if it has said so and has not left in good order
    std::string not_started;  // the reason, if the process was not started
    Descriptor control;
    Inbox inbox{bootstrap::kLongestRequest};
    Outbox outbox;
    bool sending = false;  // the poller waits until control has room
    Nanoseconds closed_at = kNever;
    bootstrap::NoticeQueue notices;
    RankInput input;

    int number() const { return order->rank; }
    std::string end(const char* seen) const {
        return farewell.empty() ? fmt::format("{} before it {} the job", seen, joined ? "left" : "joined") : farewell;
    }
};

Node::Node(Poller& poller, Events& events, const Order& order, Inherited inherited)
    : poller_(poller), events_(events), order_(order), own_(order.hosts.front()), inherited_(std::move(inherited)), host_(host_name()) {}

Node::~Node() = default;

Prepared Node::prepare() { return prepare_host(order_, host_, preparation_); }

void Node::start(int direct_input) {
    std::vector<Descriptor> kept;
    std::string failed;  // the reason of the first failure
    const auto attempt = [&failed](auto&& what) {
        try {
            if (failed.empty()) what();
        } catch (const Error& error) {
            failed = error.what();
        }
    };
    attempt([&] { prepare_start(kept); });
    for (const auto& order : own_.ranks) {
        auto taken = [this, number = order.rank](std::size_t bytes, bool closed) { events_.input_taken(number, bytes, closed); };
        auto& rank = *ranks_.emplace(order.rank, std::make_unique<Rank>(poller_, std::move(taken))).first->second;
        rank.order = &order;
        attempt([&] { start(rank, order.rank == direct_input); });
        if (!failed.empty()) rank.not_started = "could not be started: " + failed;
        events_.busy();
    }
    kept.clear();
    for (const auto& [number, rank] : ranks_) {
        if (rank->not_started.empty()) continue;
        if (rank->alive) {  // the process runs but cannot be heard; its death will be reported
            ::kill(rank->process, SIGKILL);
        } else {
            events_.exited({.rank = number, .code = 1, .started = false, .how = rank->not_started});
        }
    }
}

void Node::prepare_start(std::vector<Descriptor>& kept) {
    null_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null_) cannot("open /dev/null");
    auto report = needed(make_pipe());
    unblock(report.first);
    report_ = std::move(report.first);
    report_write_ = std::move(report.second);
    for (int i = 0; i < kKeptDescriptors; ++i) {
        kept.emplace_back(::fcntl(null_.get(), F_DUPFD_CLOEXEC, 0));
        if (!kept.back()) cannot("keep descriptors for the end of the job");
    }
}

void Node::start(Rank& rank, bool direct_input) {
    const auto application = static_cast<std::size_t>(rank.order->application);
    rank.program = &order_.applications[application].argv.front();
    auto control = needed(make_sockets(SOCK_STREAM));
    auto notices = needed(make_sockets(SOCK_SEQPACKET));
    auto out = needed(make_pipe());
    auto error = needed(make_pipe());
    Ends input;
    int in = direct_input ? STDIN_FILENO : null_.get();
    if (std::find(order_.input_ranks.begin(), order_.input_ranks.end(), rank.number()) != order_.input_ranks.end()) {
        input = needed(make_pipe());
        in = input.first.get();
    }
    welcome(rank, control.first, notices.second);

    auto own = with_environment(
        preparation_.environments[application],
        {fmt::format("{}={}", bootstrap::kDescriptorVariable, control.second.get()),
         fmt::format("{}={}", bootstrap::kJobVariable, order_.job), fmt::format("{}={}", bootstrap::kRankVariable, rank.number()),
         fmt::format("{}={}", bootstrap::kSizeVariable, order_.size)});
    if (order_.size == 1)
        own.push_back(fmt::format("{}={}", bootstrap::kOuterEnvironmentVariable, bootstrap::encode_outer_environment(own)));
    Spawn what;
    what.path = preparation_.programs[application].c_str();
    what.argv = &order_.applications[application].argv;
    what.environment = &own;
    what.input = in;
    what.output = out.second.get();
    what.error = error.second.get();
    what.bootstrap = control.second.get();
    what.report = report_write_.get();
    what.rank = rank.number();
    if (!preparation_.processors.empty()) what.processors = preparation_.processors[static_cast<std::size_t>(rank.order->local_rank)];
    what.inherited = &inherited_;
    rank.process = spawn(what);
    if (rank.process < 0) cannot(fmt::format("start the process of rank {}", rank.number()));
    rank.alive = true;
    living_processes_[rank.process] = &rank;
    ++living_;

    rank.control = std::move(control.first);
    rank.notices.open(std::move(notices.first), [this, &rank] { notices_closed(rank); });
    poller_.add(rank.control.get(), EPOLLIN, [this, &rank](std::uint32_t) {
        hear(rank);
        send(rank);
    });
    unblock(out.first);
    unblock(error.first);
    events_.writes_to(rank.number(), false, std::move(out.first));
    events_.writes_to(rank.number(), true, std::move(error.first));
    if (input.second) {
        unblock(input.second);
        rank.input.open(std::move(input.second));
    }
}

void Node::welcome(const Rank& rank, const Descriptor& control, const Descriptor& notices) const {
    bootstrap::Place place;
    place.rank = rank.number();
    place.local_rank = rank.order->local_rank;
    place.size = order_.size;
    place.local_size = static_cast<int>(own_.ranks.size());
    place.hosts = order_.hosts_of_job;
    place.job = order_.job;
    place.host = host_;
    if (!bootstrap::send_with_descriptor(control.get(), bootstrap::encode_welcome(place), notices.get())) cannot("welcome a rank");
}

std::vector<std::pair<int, pid_t>> Node::processes() const {
    std::vector<std::pair<int, pid_t>> all;
    for (const auto& [number, rank] : ranks_)
        if (rank->alive) all.emplace_back(number, rank->process);
    return all;
}

std::set<pid_t> Node::started() const {
    std::set<pid_t> all;
    for (const auto& [number, rank] : ranks_)
        if (rank->process > 0) all.insert(rank->process);
    return all;
}

void Node::hear(Rank& rank) {
    if (!rank.control) return;
    bool open = rank.inbox.receive(rank.control.get()) == Inbox::State::open;
    try {
        while (auto frame = rank.inbox.next()) handle(rank, *frame);
    } catch (const Error& error) {
        events_.say(fmt::format("rank {} on host {}: {}", rank.number(), host_, error.what()));
        open = false;
    }
    if (open) return;
    poller_.remove(rank.control.get());
    rank.control.reset();
    listening_.erase(&rank);
    if (!rank.left) rank.closed_at = monotonic_now();
}

/// Every process that a wrapper starts inherits the control socket, so it may stay open after the death of the one that joined. The end of
/// the notice socket is in that process only: it is closed by exec and in forked children. Nobody can speak for the rank after that.
void Node::notices_closed(Rank& rank) {
    hear(rank);  // it may have left
    listening_.erase(&rank);
    if (rank.alive && !rank.left) rank.closed_at = monotonic_now();
}

void Node::handle(Rank& rank, const Frame& frame) {
    switch (frame.type) {
        case FrameType::join:
            rank.joined = true;
            if (listening_.insert(&rank).second)
                for (const auto& record : noticed_) rank.notices.send(record);
            events_.joined(rank.number());
            return;
        case FrameType::farewell: rank.farewell = bootstrap::FrameReader(frame.body).text(); return;
        case FrameType::leave:
            rank.left = true;
            rank.closed_at = kNever;
            listening_.erase(&rank);
            [[fallthrough]];
        case FrameType::exchange:
        case FrameType::barrier:
        case FrameType::abort: events_.called(rank.number(), frame); return;
        default:
            throw Error(ErrorCode::bootstrap,
                        fmt::format("it sent a frame of type {}, which is not for launchers", static_cast<int>(frame.type)));
    }
}

void Node::answer(int number, std::shared_ptr<const Blob> frame) {
    Rank& rank = *ranks_.at(number);
    if (!rank.control) return;
    if (rank.outbox.empty() && bootstrap::hand_out(rank.control.get(), frame)) return;
    rank.outbox.add(std::move(frame));
    send(rank);
}

void Node::send(Rank& rank) {
    if (!rank.control) return;
    rank.outbox.send(rank.control.get());  // if the connection is closed, the next read shows it
    const bool sending = !rank.outbox.empty();
    if (sending == rank.sending) return;
    rank.sending = sending;
    poller_.change(rank.control.get(), sending ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Node::notify(const std::shared_ptr<const Blob>& record) {
    // Ordinary programs never join. If each got a record of each death, the work would grow with the square of their number.
    noticed_.push_back(record);
    for (Rank* const rank : listening_) rank->notices.send(record);
}

void Node::input(int number, std::string_view bytes) { ranks_.at(number)->input.take(bytes); }

void Node::signal(int number) {
    if (number == SIGUSR1 || number == SIGUSR2) {
        for (const auto& [rank, process] : processes()) ::kill(process, number);
        return;
    }
    for (const pid_t process : descendants(::getpid(), spared_)) {
        ::kill(process, number);
        // A process that is stopped would not use the time to report.
        if (number != SIGSTOP && number != SIGKILL && number != SIGCONT) ::kill(process, SIGCONT);
    }
}

std::vector<std::pair<pid_t, int>> Node::reap() {
    std::vector<std::pair<pid_t, int>> others;
    std::vector<std::pair<Rank*, int>> dead;
    int status = 0;
    for (pid_t process; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto found = living_processes_.find(process);
        if (found != living_processes_.end()) {
            dead.emplace_back(found->second, status);
            living_processes_.erase(found);
        } else {
            others.emplace_back(process, status);
        }
    }
    // First take what a rank said before it died.
    for (const auto& [rank, how] : dead) hear(*rank);
    // Several deaths may be seen together. Then a signal is more likely to be the cause, and an exit code to be the consequence.
    std::sort(dead.begin(), dead.end(), [](const auto& a, const auto& b) {
        return std::pair(!WIFSIGNALED(a.second), a.first->number()) < std::pair(!WIFSIGNALED(b.second), b.first->number());
    });
    for (const auto& [rank, how] : dead) rank->alive = false;
    living_ -= static_cast<int>(dead.size());
    for (const auto& [rank, how] : dead) {
        exited(*rank, how);
        events_.busy();
    }
    return others;
}

void Node::explain(const Rank& rank, const SpawnFailure& failure, Exit& exit) const {
    exit.code = 1;
    exit.started = false;
    switch (failure.step) {
        case SpawnFailure::Step::descriptors:
            exit.how = fmt::format("could not get its input and output: {}", error_text(failure.error));
            return;
        case SpawnFailure::Step::binding:
            exit.how = fmt::format("cannot be bound to CPUs {}: {}; --bind-to none starts it on those that are left",
                                   runtime::format_cpus(preparation_.processors[static_cast<std::size_t>(rank.order->local_rank)]),
                                   error_text(failure.error));
            return;
        case SpawnFailure::Step::program: break;
    }
    const auto fault = explain_exec_failure(preparation_.programs[static_cast<std::size_t>(rank.order->application)], failure.error);
    exit.how = fmt::format("could not start '{}': {}", *rank.program, fault.why);
    exit.code = fault.code;
}

void Node::exited(Rank& rank, int status) {
    for (SpawnFailure failure; ::read(report_.get(), &failure, sizeof failure) == sizeof failure;) not_started_[failure.rank] = failure;
    Exit exit;
    exit.rank = rank.number();
    exit.joined = rank.joined;
    if (!rank.not_started.empty()) {
        exit.how = rank.not_started;
        exit.code = 1;
        exit.started = false;
    } else if (WIFSIGNALED(status)) {
        exit.signalled = true;
        exit.how = "was killed by " + describe_signal(WTERMSIG(status));
        if (WTERMSIG(status) == SIGKILL) exit.how += memory_.possible_cause();
        exit.code = 128 + WTERMSIG(status);
    } else if (const auto failed = not_started_.find(rank.number()); failed != not_started_.end()) {
        explain(rank, failed->second, exit);
    } else if (WEXITSTATUS(status) != 0) {
        exit.code = WEXITSTATUS(status);
        exit.how = fmt::format("exited with code {}", exit.code);
    } else if (!rank.left) {
        exit.how = rank.end("exited with code 0");
    }
    if (rank.control) poller_.remove(rank.control.get());
    rank.control.reset();
    rank.closed_at = kNever;
    listening_.erase(&rank);
    rank.notices.close();
    rank.input.close();
    events_.exited(exit);
}

Nanoseconds Node::tick_at() const {
    Nanoseconds until = kNever;
    for (const auto& [number, rank] : ranks_)
        if (rank->closed_at != kNever) until = std::min(until, rank->closed_at + kOutputClosedBeforeDeath);
    return until;
}

void Node::tick() {
    const Nanoseconds time = monotonic_now();
    for (const auto& [number, rank] : ranks_) {
        if (!rank->alive || rank->closed_at == kNever || rank->closed_at + kOutputClosedBeforeDeath > time) continue;
        rank->closed_at = kNever;
        events_.fell_silent(number, rank->end("closed its connection to the launcher"));
    }
}

}  // namespace rollcall::launcher
