#include "launcher/node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>

#include <rollcall/error.hpp>

#include "launcher/clock.hpp"
#include "launcher/descendants.hpp"
#include "launcher/launch.hpp"
#include "runtime/bootstrap/passing.hpp"

namespace rollcall::launcher {
namespace {

using bootstrap::Blob;
using bootstrap::Descriptor;
using bootstrap::Frame;
using bootstrap::FrameReader;
using bootstrap::FrameType;
using bootstrap::Inbox;
using bootstrap::Outbox;

/// A process that dies closes its sockets some moments before its death can be reaped, and the death says more. After
/// this long the closed connection is news by itself.
constexpr Nanoseconds kClosedBeforeDeath = 200 * kMillisecond;

/// Descriptors that ranks may not take: the processes of a job that ends are found in /proc.
constexpr int kKeptDescriptors = 8;

[[noreturn]] void cannot(const std::string& what) {
    const char* const advice = errno == EMFILE   ? "; raise the limit of open files (ulimit -n): a rank takes five"
                               : errno == EAGAIN ? "; raise the limit of processes (ulimit -u)"
                                                 : "";
    throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot {}: {}{}", what, std::strerror(errno), advice));
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

}  // namespace

std::string describe_signal(int signal) {
    const char* const text = ::sigdescr_np(signal);
    return fmt::format("signal {} ({})", signal, text != nullptr ? text : "unknown");
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

struct Node::Rank {
    const HostOrder::Rank* order = nullptr;
    const std::string* program = nullptr;  // as the user wrote it
    pid_t process = -1;
    bool alive = false;
    bool joined = false;
    bool left = false;
    std::string not_started;  // why
    Descriptor control;
    Inbox inbox{bootstrap::kLongestRequest};
    Outbox outbox;
    bool sending = false;  // the poller waits for room in control
    Nanoseconds closed_at = kNever;
    Descriptor notices;
    std::deque<std::shared_ptr<const Blob>> unsent_notices;
    bool noticing = false;  // the poller waits for room in notices
    Descriptor input;
    std::string typed;  // on its way into input
    bool input_ends = false;

    int number() const { return order->rank; }
};

Node::Node(Poller& poller, Events& events, const Order& order, Inherited inherited)
    : poller_(poller), events_(events), order_(order), own_(order.hosts.front()), inherited_(std::move(inherited)), host_(host_name()) {}

Node::~Node() = default;

Prepared Node::prepare() {
    Prepared result;
    result.host = own_.index;
    if (own_.ranks.empty()) return result;
    const auto refuse = [&](int code, std::string sentence) {
        result.code = code;
        result.refusal = std::move(sentence);
        return result;
    };
    if (!order_.directory.empty() && ::chdir(order_.directory.c_str()) != 0) {
        return refuse(1, fmt::format("host {} has no directory '{}' to start in ({}); start from a directory that all hosts have, or give "
                                     "--directory",
                                     host_, order_.directory, std::strerror(errno)));
    }
    // UCX takes SIGHUP for itself unless it is told not to: a rank that is hung up is to end, as any program does.
    const auto base = with_environment(with_environment({"UCX_DEBUG_SIGNO=0"}, own_environment()), order_.environment);
    for (const auto& application : order_.applications) {
        environments_.push_back(with_environment(base, application.environment));
        Found found = find_program(application.argv.front(), environments_.back());
        programs_.push_back(std::move(found.path));
        const auto index = static_cast<int>(programs_.size()) - 1;
        const bool runs_here =
            std::any_of(own_.ranks.begin(), own_.ranks.end(), [&](const auto& rank) { return rank.application == index; });
        if (found.error == 0 || !runs_here) continue;
        const auto& name = application.argv.front();
        return refuse(found.error == EACCES ? kExitNotExecutable : kExitNotFound,
                      fmt::format("cannot start '{}'{}: {}", name, order_.hosts_of_job > 1 ? " on host " + host_ : "",
                                  found.error == ENOENT && name.find('/') == std::string::npos ? "there is no such program in PATH"
                                                                                               : std::strerror(found.error)));
    }
    if (order_.bind_to != BindTo::none) {
        const Machine machine = load_machine();
        processors_ = bind_ranks(machine, static_cast<int>(own_.ranks.size()), order_.map_by, order_.bind_to);
        result.processors = processors_;
        for (const auto& processors : processors_) result.places.push_back(name_place(machine, processors, order_.bind_to));
    }
    return result;
}

void Node::start(int direct_input) {
    std::vector<Descriptor> kept;
    std::string failed;  // why
    const auto attempt = [&failed](auto&& what) {
        try {
            if (failed.empty()) what();
        } catch (const Error& error) {
            failed = error.what();
        }
    };
    attempt([&] { prepare_start(kept); });
    for (const auto& order : own_.ranks) {
        auto& rank = *ranks_.emplace(order.rank, std::make_unique<Rank>()).first->second;
        rank.order = &order;
        attempt([&] { start(rank, order.rank == direct_input); });
        if (!failed.empty()) rank.not_started = "could not be started: " + failed;
        events_.starting();
    }
    kept.clear();
    for (const auto& [number, rank] : ranks_) {
        if (rank->not_started.empty()) continue;
        if (rank->alive) {  // a process of which nothing could be heard; its death is told
            ::kill(rank->process, SIGKILL);
        } else {
            Exit exit;
            exit.rank = number;
            exit.code = 1;
            exit.how = rank->not_started;
            events_.exited(exit);
        }
    }
}

void Node::prepare_start(std::vector<Descriptor>& kept) {
    null_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null_) cannot("open /dev/null");
    auto report = make_pipe();
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
    auto control = make_sockets(SOCK_STREAM);
    auto notices = make_sockets(SOCK_SEQPACKET);
    auto out = make_pipe();
    auto error = make_pipe();
    Pair input;
    int in = direct_input ? STDIN_FILENO : null_.get();
    if (std::find(order_.input_ranks.begin(), order_.input_ranks.end(), rank.number()) != order_.input_ranks.end()) {
        input = make_pipe();
        in = input.first.get();
    }
    welcome(rank, control.first, notices.second);

    const auto own =
        with_environment(environments_[application], {fmt::format("{}={}", bootstrap::kDescriptorVariable, control.second.get()),
                                                      fmt::format("{}={}", bootstrap::kJobVariable, order_.job),
                                                      fmt::format("{}={}", bootstrap::kRankVariable, rank.number()),
                                                      fmt::format("{}={}", bootstrap::kSizeVariable, order_.size)});
    Spawn what;
    what.path = programs_[application].c_str();
    what.argv = &order_.applications[application].argv;
    what.environment = &own;
    what.input = in;
    what.output = out.second.get();
    what.error = error.second.get();
    what.bootstrap = control.second.get();
    what.report = report_write_.get();
    what.rank = rank.number();
    if (!processors_.empty()) what.processors = processors_[static_cast<std::size_t>(rank.order->local_rank)];
    what.inherited = &inherited_;
    rank.process = spawn(what);
    if (rank.process < 0) cannot(fmt::format("start the process of rank {}", rank.number()));
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
    events_.writes_to(rank.number(), false, std::move(out.first));
    events_.writes_to(rank.number(), true, std::move(error.first));
    if (input.second) {
        unblock(input.second);
        rank.input = std::move(input.second);
        poller_.add(rank.input.get(), 0, [this, &rank](std::uint32_t events) {
            if ((events & EPOLLERR) != 0) {
                close_input(rank);
            } else {
                write_input(rank);
            }
        });
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
    for (const auto& [number, rank] : ranks_) {
        if (rank->alive) all.emplace_back(number, rank->process);
    }
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
    if (!rank.left) rank.closed_at = now();
}

void Node::handle(Rank& rank, const Frame& frame) {
    switch (frame.type) {
        case FrameType::join:
            rank.joined = true;
            events_.joined(rank.number());
            return;
        case FrameType::leave: rank.left = true; [[fallthrough]];
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
    rank.outbox.send(rank.control.get());  // a closed connection shows at the next read
    const bool sending = !rank.outbox.empty();
    if (sending == rank.sending) return;
    rank.sending = sending;
    poller_.change(rank.control.get(), sending ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Node::notify(int number, std::shared_ptr<const Blob> record) {
    const auto found = ranks_.find(number);
    if (found == ranks_.end()) return;  // not started yet, and now it will not be
    Rank& rank = *found->second;
    if (!rank.alive || !rank.notices) return;
    rank.unsent_notices.push_back(std::move(record));
    send_notices(rank);
}

void Node::notify_all(const std::shared_ptr<const Blob>& record) {
    for (const auto& [number, rank] : ranks_) notify(number, record);
}

void Node::send_notices(Rank& rank) {
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

void Node::input(int number, std::string_view bytes) {
    Rank& rank = *ranks_.at(number);
    if (!rank.input) {
        events_.input_taken(number, bytes.size(), true);
        return;
    }
    rank.typed.append(bytes);
    rank.input_ends = rank.input_ends || bytes.empty();
    write_input(rank);
}

void Node::write_input(Rank& rank) {
    if (!rank.input) return;
    std::size_t taken = 0;
    while (taken < rank.typed.size()) {
        const ssize_t count = ::write(rank.input.get(), rank.typed.data() + taken, rank.typed.size() - taken);
        if (count > 0) {
            taken += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            close_input(rank);  // it reads no more
            return;
        }
    }
    rank.typed.erase(0, taken);
    if (rank.typed.empty() && rank.input_ends) {
        poller_.remove(rank.input.get());
        rank.input.reset();
    } else {
        poller_.change(rank.input.get(), rank.typed.empty() ? 0u : EPOLLOUT);
    }
    if (taken > 0) events_.input_taken(rank.number(), taken, !rank.input);
}

void Node::close_input(Rank& rank) {
    if (!rank.input) return;
    poller_.remove(rank.input.get());
    rank.input.reset();
    const std::size_t lost = rank.typed.size();
    rank.typed.clear();
    events_.input_taken(rank.number(), lost, true);
}

void Node::signal(int number) {
    if (number == SIGUSR1 || number == SIGUSR2) {
        for (const auto& [rank, process] : processes()) ::kill(process, number);
        return;
    }
    for (const pid_t process : descendants(::getpid(), spared_)) {
        ::kill(process, number);
        // A stopped process would sleep through its grace.
        if (number != SIGSTOP && number != SIGKILL && number != SIGCONT) ::kill(process, SIGCONT);
    }
}

std::vector<std::pair<pid_t, int>> Node::reap() {
    std::vector<std::pair<pid_t, int>> others;
    std::vector<std::pair<Rank*, int>> dead;
    int status = 0;
    for (pid_t process; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                        [&](const auto& entry) { return entry.second->alive && entry.second->process == process; });
        if (found != ranks_.end()) {
            dead.emplace_back(found->second.get(), status);
        } else {
            others.emplace_back(process, status);
        }
    }
    // What a rank said before it died comes first.
    for (const auto& [rank, how] : dead) hear(*rank);
    // Of deaths that are seen together a signal is likelier to be the cause, and a code its consequence, than the
    // reverse.
    std::sort(dead.begin(), dead.end(), [](const auto& a, const auto& b) {
        return std::pair(!WIFSIGNALED(a.second), a.first->number()) < std::pair(!WIFSIGNALED(b.second), b.first->number());
    });
    for (const auto& [rank, how] : dead) {
        rank->alive = false;
        --living_;
    }
    for (const auto& [rank, how] : dead) exited(*rank, how);
    return others;
}

void Node::exited(Rank& rank, int status) {
    for (std::array<int, 2> report{}; ::read(report_.get(), report.data(), sizeof report) == sizeof report;) {
        not_started_[report[0]] = report[1];
    }
    Exit exit;
    exit.rank = rank.number();
    exit.joined = rank.joined;
    if (!rank.not_started.empty()) {
        exit.how = rank.not_started;
        exit.code = 1;
    } else if (WIFSIGNALED(status)) {
        exit.signalled = true;
        exit.how = "was killed by " + describe_signal(WTERMSIG(status));
        exit.code = 128 + WTERMSIG(status);
    } else if (const auto failed = not_started_.find(rank.number()); failed != not_started_.end()) {
        exit.how = fmt::format("could not start '{}': {}", *rank.program, std::strerror(failed->second));
        exit.code = failed->second == ENOENT ? kExitNotFound : kExitNotExecutable;
    } else if (WEXITSTATUS(status) != 0) {
        exit.code = WEXITSTATUS(status);
        exit.how = fmt::format("exited with code {}", exit.code);
    } else if (!rank.left) {
        exit.how = fmt::format("exited with code 0 before it {} the job", rank.joined ? "left" : "joined");
    }
    if (rank.control) poller_.remove(rank.control.get());
    rank.control.reset();
    rank.closed_at = kNever;
    if (rank.noticing) poller_.remove(rank.notices.get());
    rank.noticing = false;
    rank.notices.reset();
    rank.unsent_notices.clear();
    close_input(rank);
    events_.exited(exit);
}

Nanoseconds Node::tick_at() const {
    Nanoseconds until = kNever;
    for (const auto& [number, rank] : ranks_) {
        if (rank->closed_at != kNever) until = std::min(until, rank->closed_at + kClosedBeforeDeath);
    }
    return until;
}

void Node::tick() {
    const Nanoseconds time = now();
    for (const auto& [number, rank] : ranks_) {
        if (!rank->alive || rank->closed_at == kNever || rank->closed_at + kClosedBeforeDeath > time) continue;
        rank->closed_at = kNever;
        events_.fell_silent(number,
                            fmt::format("closed its connection to the launcher before it {} the job", rank->joined ? "left" : "joined"));
    }
}

}  // namespace rollcall::launcher
