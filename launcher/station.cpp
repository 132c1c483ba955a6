#include "launcher/station.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/error_text.hpp"
#include "foundation/host_name.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/processes/stacks.hpp"

namespace rollcall::launcher {
namespace {

using bootstrap::Hub;

/// SIGKILL is sent again after this time, because a process may have forked while the signals were sent.
constexpr Nanoseconds kKillAgain = 10 * kMillisecond;
/// Processes that SIGKILL has not ended within this time are reported: they hang in the kernel, or belong to another user. If half of the
/// silence after which a station counts as lost is shorter, that half is used.
constexpr Timeout kStationKillLimit = std::chrono::seconds(2);
constexpr int kForwardedAtOnce = 16;
/// At most this many remote shells connect at the same time. The others wait.
constexpr std::ptrdiff_t kMostConnecting = 64;

std::vector<int> own_ranks(const Order& order) {
    std::vector<int> ranks;
    for (const auto& rank : order.hosts.front().ranks) ranks.push_back(rank.rank);
    return ranks;
}

std::vector<std::vector<int>> ranks_of(const std::vector<Order>& parts) {
    std::vector<std::vector<int>> all;
    for (const auto& part : parts) {
        auto& ranks = all.emplace_back();
        for (const auto& host : part.hosts) {
            for (const auto& rank : host.ranks) ranks.push_back(rank.rank);
        }
    }
    return all;
}

Frame read(const Blob& bytes) {
    bootstrap::Inbox inbox(kLongestAgentFrame);
    inbox.append(bytes);
    return *inbox.next();
}

}  // namespace

Station::Station(Poller& poller, Guarded& guarded, Order order, bool root)
    : poller_(poller),
      guarded_(guarded),
      order_(std::move(order)),
      host_(host_name()),
      node_(poller, *this, order_, guarded.inherited),
      root_(root),
      parts_(parts_below(order_)),
      hub_(*this, host_, Hub(order_.size, own_ranks(order_), ranks_of(parts_), root)),
      leftovers_(true),
      kill_again_(kNever) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        for (const auto& host : parts_[i].hosts) {
            for (const auto& rank : host.ranks) way_[rank.rank] = i;
        }
    }
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("the launcher cannot become the reaper of the job's processes: {}", error_text(errno)));
    }
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
    deaths_.reset(::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!deaths_) throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot open what it needs: {}", error_text(errno)));
    poller_.add(deaths_.get(), EPOLLIN, [this](std::uint32_t) { reap(); });
    poller_.add(guarded_.commands.get(), EPOLLIN, [this](std::uint32_t) {
        std::uint8_t signal = 0;
        // The number is limited, so that a process that sends signals without end does not keep this loop from its other work.
        for (int i = 0; i < kForwardedAtOnce && ::read(guarded_.commands.get(), &signal, 1) == 1; ++i) signalled(signal);
    });
    poller_.add(guarded_.front.get(), EPOLLIN, [this](std::uint32_t) {
        poller_.remove(guarded_.front.get());
        poller_.remove(guarded_.commands.get());
        signalled(SIGKILL);
    });
    if (leftovers_.descriptor() >= 0) {
        poller_.add(leftovers_.descriptor(), EPOLLIN, [this](std::uint32_t) { leftovers_.noticed(); });
    }
}

Station::~Station() = default;

void Station::prepare() {
    for (auto& part : std::exchange(parts_, {})) {
        const auto index = remotes_.size();
        Remote::Events events;
        events.said = [this, index](const Frame& frame) { hear(index, frame); };
        events.lost = [this, index](const std::string& how, int code) { lost(index, how, code); };
        events.shell_said = [this, index](const std::string& line) { say(fmt::format("host {}: {}", remotes_[index]->host().name, line)); };
        remotes_.push_back(std::make_unique<Remote>(poller_, std::move(part), guarded_.inherited, std::move(events)));
    }
    const Prepared prepared = node_.prepare();
    if (!prepared.warning.empty()) say(prepared.warning);
    report(read(encode_prepared(prepared)));
}

void Station::hear(std::size_t remote, const Frame& frame) {
    switch (frame.type) {
        case FrameType::contribution:
        case FrameType::refusal:
        case FrameType::loss: hub_.hear_below(static_cast<int>(remote), frame); return;
        default: report(frame);
    }
}

void Station::lost(std::size_t remote, const std::string& how, int code) {
    const Remote& gone = *remotes_[remote];
    std::string all = how;
    if (!root_ && !gone.connected()) {
        all += fmt::format("; host {} has tried it; with --fanout flat the host of the command starts all agents", host_);
    }
    hub_.lose_below(static_cast<int>(remote), gone.host().name, all);
    report(read(encode_lost(code, all, gone.order().hosts)));
}

Remote* Station::way_to(int rank) const {
    const auto found = way_.find(rank);
    return found == way_.end() ? nullptr : remotes_[found->second].get();
}

void Station::command(Blob frame) { command(read(frame)); }

void Station::command(const Frame& frame) {
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::heartbeat: return;
        case FrameType::gathered:
        case FrameType::released:
        case FrameType::failed:
        case FrameType::loss: hub_.hear_above(frame); return;
        case FrameType::agent_input:
        case FrameType::agent_taken: {
            const int rank = reader.i32();
            if (Remote* const way = way_to(rank)) {
                way->send(std::make_shared<const Blob>(bootstrap::encode(frame)));
                return;
            }
            if (!node_.has(rank)) return;
            const bool error = reader.u32() != 0;
            if (frame.type == FrameType::agent_taken) {
                output_taken(rank, error, reader.u64());
            } else {
                const auto bytes = reader.blob();
                node_.input(rank, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
            }
            return;
        }
        default: break;
    }
    // The other frames are for all stations.
    const auto again = std::make_shared<const Blob>(bootstrap::encode(frame));
    for (const auto& remote : remotes_) remote->send(again);
    switch (frame.type) {
        case FrameType::agent_go:
            if (!killing_) node_.start(direct_input());
            return;
        case FrameType::agent_signal: {
            const int signal = reader.i32();
            ending_ = ending_ || asks_for_the_end(signal);
            look_for_leftovers();
            give_up_tracing();
            node_.signal(signal);
            return;
        }
        case FrameType::agent_kill: kill(); return;
        case FrameType::agent_stacks: trace(); return;
        case FrameType::agent_finish: return;  // the stations below have got it; the owner of this station does the rest
        case FrameType::notice: node_.notify(again); return;
        default:
            throw Error(ErrorCode::bootstrap,
                        fmt::format("the launcher sent a frame of type {}, which is not a command", static_cast<int>(frame.type)));
    }
}

void Station::trace() {
    if (node_.living() == 0) return report_traced();
    std::string why_not;
    tracer_ = start_tracer(node_.processes(), guarded_.inherited, why_not);
    if (tracer_ > 0) {
        node_.spared().insert(tracer_);
    } else {
        say(fmt::format("there are no stack traces from host {}: it {}", host_, why_not));
        report_traced();
    }
}

void Station::give_up_tracing() {
    // A process that gdb traces gets no signals, and if it is killed, only gdb can see that. So gdb is sent the signal, too.
    if (tracer_ > 0) node_.spared().erase(tracer_);
}

void Station::report_traced() { report(read(FrameWriter(FrameType::agent_stacks_done).i32(order_.hosts.front().index).finish())); }

void Station::kill() {
    if (!killing_) look_for_leftovers();
    give_up_tracing();
    ending_ = killing_ = true;
    kill_again_ = node_.living() > 0 ? monotonic_now() + kKillAgain : kNever;
    node_.signal(SIGKILL);
}

void Station::finish(bool failed) {
    command(FrameWriter(FrameType::agent_finish).u32(failed ? 1 : 0).finish());
    for (const auto& remote : remotes_) remote->give_up_start();
    kill_again_ = kNever;
    give_up_tracing();
    // While this process waits here, other stations hear nothing of it.
    if (!kill_descendants(node_.spared(), std::min(kStationKillLimit, Timeout(order_.silence / 2)))) {
        say(fmt::format("{} processes of the job on host {} cannot be ended", descendants(::getpid(), node_.spared()).size(), host_));
    }
    leftovers_.remove(failed, node_.started());
}

bool Station::below_over() const {
    return std::all_of(remotes_.begin(), remotes_.end(), [](const auto& remote) { return remote->over(); });
}

void Station::kill_shells() {
    for (const auto& remote : remotes_) remote->kill_shell();
}

void Station::look_for_leftovers() {
    // If this process cannot remove them, the front does.
    for (const auto& found : leftovers_.look()) {
        ::send(guarded_.commands.get(), &found, sizeof found, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void Station::reap() {
    signalfd_siginfo ignored;
    while (::read(deaths_.get(), &ignored, sizeof ignored) > 0) {
    }
    for (const auto& [process, status] : node_.reap()) {
        if (process == tracer_) {
            node_.spared().erase(process);
            tracer_ = -1;
            report_traced();
            continue;
        }
        const auto found =
            std::find_if(remotes_.begin(), remotes_.end(), [&, id = process](const auto& remote) { return remote->shell() == id; });
        if (found == remotes_.end()) continue;  // not a shell of ours: this process has adopted it
        node_.spared().erase(process);
        (*found)->shell_ended(status);
    }
}

void Station::step(Nanoseconds until) {
    auto connecting =
        std::count_if(remotes_.begin(), remotes_.end(), [](const auto& remote) { return remote->shell() > 0 && !remote->connected(); });
    for (const auto& remote : remotes_) {
        if (connecting >= kMostConnecting) break;
        if (!remote->waits_to_start()) continue;
        remote->start();
        node_.spared().insert(remote->shell());
        ++connecting;
    }
    until = std::min({until, node_.tick_at(), leftovers_.look_at(), kill_again_, hub_.tick_at()});
    // A remote that waits for its turn is started when another remote has connected or ended.
    for (const auto& remote : remotes_) until = std::min(until, remote->tick_at(connecting < kMostConnecting));
    poller_.wait(until);

    const Nanoseconds time = monotonic_now();
    if (leftovers_.look_at() <= time) look_for_leftovers();
    node_.tick();
    for (const auto& remote : remotes_) remote->tick();
    if (kill_again_ <= time) kill();
    hub_.tick();
}

void Station::joined(int rank) { report(read(FrameWriter(FrameType::agent_joined).i32(rank).finish())); }

void Station::called(int rank, const Frame& frame) {
    if (hub_.hear_rank(rank, frame)) return;
    FrameReader reader(frame.body);
    const int code = reader.i32();
    const std::string why = reader.text();
    reader.end();
    report(read(FrameWriter(FrameType::abort).i32(code).text(why).i32(rank).text(host_).finish()));
}

void Station::fell_silent(int rank, const std::string& how) {
    if (!ending_) hub_.lose(rank, how);
}

void Station::exited(const Exit& exit) {
    // The exit is reported before the loss. A rank that hears of the loss may fail because of it at once, and the launcher must see the
    // cause first.
    report(read(encode_exit(exit)));
    // When all ranks were asked to end, their deaths are no news, and each would cost a frame to each host.
    if (!exit.how.empty() && !ending_) hub_.lose(exit.rank, exit.how);
}

void Station::input_taken(int rank, std::size_t bytes, bool closed) {
    report(read(FrameWriter(FrameType::agent_input_taken).i32(rank).u64(bytes).u32(closed ? 1 : 0).finish()));
}

void Station::busy() {
    for (const auto& remote : remotes_) remote->beat();
}

}  // namespace rollcall::launcher
