#include "launcher/job.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/quote.hpp"
#include "foundation/units.hpp"
#include "launcher/hosts/job_map.hpp"

namespace rollcall::launcher {
namespace {

/// How long gdb may take for all ranks of a host.
constexpr Timeout kStacksLimit = std::chrono::seconds(20);

}  // namespace

Job::Job(Poller& poller, Guarded& guarded, const LaunchOptions& options, Order order)
    : Station(poller, guarded, std::move(order), true),
      options_(options),
      output_(poller, STDOUT_FILENO, STDERR_FILENO, {options.tag_output, options.timestamp_output}, options.output_directory,
              [this](int rank, bool error, std::size_t bytes) {
                  command(FrameWriter(FrameType::agent_taken).i32(rank).u32(error ? 1 : 0).u64(bytes).finish());
              }),
      host_of_(static_cast<std::size_t>(order_.size)),
      failures_(options.max_failures),
      stage_until_(kNever),
      ended_at_(deadline_after(options.timeout)),
      join_until_(options.all_must_join ? deadline_after(options.launch_timeout) : kNever),
      stopped_at_(kNever),
      flush_until_(kNever) {
    for (const auto& host : order_.hosts) {
        place_of_host_.emplace(host.index, place_of_host_.size());
        unprepared_.insert(host.index);
        for (const auto& rank : host.ranks) {
            host_of_[static_cast<std::size_t>(rank.rank)] = &host;
            living_.insert(rank.rank);
        }
    }
    prepared_.resize(order_.hosts.size());
    if (!order_.input_ranks.empty()) {
        input_ = std::make_unique<Input>(
            poller_, STDIN_FILENO, guarded_.group, order_.input_ranks,
            [this](int rank, std::string_view bytes) { command(encode_stream(FrameType::agent_input, rank, false, bytes)); });
    } else if (options_.input == StandardInput::first && has_first_here()) {
        direct_input_ = 0;
    }
}

Job::~Job() = default;

bool Job::has_first_here() const {
    const auto& ranks = order_.hosts.front().ranks;
    return std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.rank == 0; });
}

int Job::run() {
    try {
        prepare();
    } catch (const Error& error) {
        end(1, error.what(), SIGKILL);
    }
    while (!living_.empty()) tick();
    return finish_job();
}

void Job::tick() {
    Nanoseconds until = std::min(stage_until_, output_.tick_at());
    if (living_.empty()) until = std::min(until, flush_until_);
    if (stage_ <= Stage::running) until = std::min({until, ended_at_, is_stopped() ? kNever : join_until_});
    if (input_) until = std::min(until, input_->retry_at());
    step(until);

    const Nanoseconds time = monotonic_now();
    if (output_.tick_at() <= time) output_.tick();
    if (input_ && input_->retry_at() <= time) input_->retry();
    if (living_.empty()) return;
    if (stage_ <= Stage::running && !output_.failure().empty()) {
        failure_is_said_ = true;
        end(1, output_.failure() + "; the job is ended", SIGTERM);
    }
    if (stage_ <= Stage::running && !is_stopped() && join_until_ <= time) not_all_joined();
    if (stage_ <= Stage::running && ended_at_ <= time) {
        const auto sentence = fmt::format("the job has not ended within its time limit of {}", exact_duration(options_.timeout.count()));
        if (options_.stack_traces && stage_ == Stage::running) {
            say(sentence + "; where its ranks are:");
            code_ = kExitTimeout;
            stage_ = Stage::tracing;
            stage_until_ = deadline_after(kStacksLimit);
            for (const int rank : living_) untraced_.insert(host_of_[static_cast<std::size_t>(rank)]->index);
            command(FrameWriter(FrameType::agent_stacks).finish());
        } else {
            limit_flush();
            end(kExitTimeout, sentence, SIGTERM);
        }
    }
    if (stage_ == Stage::tracing && (stage_until_ <= time || untraced_.empty())) {
        limit_flush();
        terminate(SIGTERM);
    }
    if (stage_ == Stage::reporting && (stage_until_ <= time || !anyone_to_report())) return terminate(SIGTERM);
    if (stage_ == Stage::terminating && stage_until_ <= time) return kill();
    if (stage_ == Stage::killing && stage_until_ <= time) give_up_killing();
}

void Job::report(const Frame& frame) {
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::agent_prepared: prepared(decode_prepared(frame.body)); return;
        case FrameType::agent_joined: has_joined(reader.i32()); return;
        case FrameType::agent_exited: ended(decode_exit(frame.body)); return;
        case FrameType::agent_output: {
            const int rank = reader.i32();
            const bool error = reader.u32() != 0;
            const auto bytes = reader.blob();
            output_.feed(rank, error, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
            return;
        }
        case FrameType::agent_input_taken: {
            const int rank = reader.i32();
            const auto bytes = reader.u64();
            if (input_) input_->taken(rank, bytes, reader.u32() != 0);
            return;
        }
        case FrameType::abort: {
            const int code = reader.i32() & 0xff;
            const std::string why = printable(reader.text());
            const int rank = reader.i32();
            // A job that was aborted has failed, even if the code it was given is 0.
            end(code == 0 ? 1 : code, fmt::format("rank {} on host {} aborted the job with code {}: {}", rank, reader.text(), code, why),
                SIGTERM, rank);
            return;
        }
        case FrameType::agent_lost: host_lost(frame); return;
        case FrameType::agent_stacks_done: untraced_.erase(reader.i32()); return;
        case FrameType::agent_finished: return;
        default: throw Error(ErrorCode::bootstrap, fmt::format("an agent sent a frame of type {}", static_cast<int>(frame.type)));
    }
}

void Job::prepared(const Prepared& prepared) {
    if (!prepared.refusal.empty()) {
        living_.clear();  // no rank has been started
        if (stage_ == Stage::starting) end(prepared.code, prepared.refusal, SIGKILL);
        return;
    }
    if (const auto place = place_of_host_.find(prepared.host); place != place_of_host_.end()) prepared_[place->second] = prepared;
    unprepared_.erase(prepared.host);
    go_if_ready();
}

void Job::go() {
    if (options_.display_map) {
        std::vector<MappedRank> rows(host_of_.size());
        for (std::size_t i = 0; i < order_.hosts.size(); ++i) {
            for (const auto& rank : order_.hosts[i].ranks)
                rows[static_cast<std::size_t>(rank.rank)] = mapped_rank(order_.hosts[i].name, prepared_[i].binding, rank.local_rank);
        }
        std::string map = draw_map(rows);
        if (!map.empty() && map.back() == '\n') map.pop_back();
        output_.say(map);
    }
    stage_ = Stage::running;
    command(FrameWriter(FrameType::agent_go).finish());
    if (input_) input_->start();
}

void Job::has_joined(int rank) {
    joined_.insert(rank);
    // Until now the programs seemed to be ordinary ones, which do not need each other.
    if (stage_ != Stage::running || !failed_before_join_) return;
    give_up(failures_.first_code(), fmt::format("{}; the job is ended, because {} has joined it, and it needs all ranks to start",
                                                *std::exchange(failed_before_join_, {}), name_of(rank)));
}

void Job::ended(const Exit& exit) {
    if (!living_.erase(exit.rank)) return;
    if (exit.joined) joined_.insert(exit.rank);
    if (exit.code == 0) {
        failures_.ended_well();
        if (!exit.how.empty() && early_.empty() && exit.joined) early_ = fmt::format("{} {}", name_of(exit.rank), exit.how);
        return;
    }
    const int host = host_of_[static_cast<std::size_t>(exit.rank)]->index;
    // In this stage the launcher has not sent any signal to the ranks yet.
    if (stage_ == Stage::reporting && first_exit_ && counts_as_first(exit, host, monotonic_now(), *first_exit_)) {
        first_exit_.reset();
        code_ = exit.code;
        say(fmt::format("{} {} at about the same time; this counts as the {}", name_of(exit.rank), exit.how,
                        options_.max_failures == 0 ? "first failure" : "failure that has ended the job"));
        return;
    }
    if (stage_ <= Stage::running) {
        first_exit_.reset();
        if (exit.joined && !exit.signalled) first_exit_ = {host, monotonic_now()};
    }
    fail({exit.rank}, exit.code, fmt::format("{} {}", name_of(exit.rank), exit.how), exit.started);
}

void Job::host_lost(const Frame& frame) {
    FrameReader reader(frame.body);
    const int code = reader.i32();
    const std::string name = reader.text();
    const std::string how = reader.text();
    bool any = false;
    std::vector<int> failed;
    for (auto count = reader.u32(); count > 0; --count) {
        const auto place = place_of_host_.find(reader.i32());
        if (place == place_of_host_.end()) continue;
        const HostOrder& host = order_.hosts[place->second];
        untraced_.erase(host.index);
        for (const auto& rank : host.ranks) {
            const bool lived = living_.erase(rank.rank) > 0;
            any = any || lived;
            if (lived || (!failures_.has(rank.rank) && !output_.has_all_of(rank.rank))) failed.push_back(rank.rank);
            if (input_) input_->taken(rank.rank, 0, true);  // the other ranks do not wait for this one to take its input
        }
    }
    std::string sentence = fmt::format("host {} {}", name, how);
    if (stage_ == Stage::starting) {
        living_.clear();
        end(code, sentence, SIGKILL);
        return;
    }
    if (failed.empty()) return;
    // The ranks of this host have ended well, but the last of their output was still on its way.
    if (!any) sentence += "; the last output of its ranks is missing";
    if (stage_ != Stage::finishing) {
        fail(failed, code, sentence);
    } else if (code_ == 0) {
        failures_.count(failed, code);
        if (failures_.too_many()) code_ = code;
        say(sentence);
    }
}

void Job::writes_to(int rank, bool error, Descriptor pipe) { output_.add(rank, error, std::move(pipe)); }

void Job::say(const std::string& sentence) { output_.say("rollcall run: " + printable(sentence)); }

std::string Job::name_of(int rank) const {
    const HostOrder& host = *host_of_[static_cast<std::size_t>(rank)];
    return fmt::format("rank {} on host {}", rank, &host == &order_.hosts.front() ? host_ : host.name);
}

bool Job::anyone_to_report() const {
    // There is something to report if some ranks have joined and some still live. If other ranks have joined, a rank that has not may be
    // about to join. A rank that has left may still have output to flush. Ordinary programs, which never join, have nothing to report.
    return !joined_.empty() && !living_.empty();
}

void Job::signalled(int signal) {
    if (signal == SIGKILL) {  // the front is gone
        if (stage_ <= Stage::running) code_ = 128 + SIGKILL;
        flush_until_ = 0;
        if (stage_ == Stage::starting) living_.clear();
        kill();
        return;
    }
    if (signal == SIGTSTP || signal == SIGCONT) {
        if (signal == SIGCONT && is_stopped() && join_until_ != kNever) join_until_ += monotonic_now() - stopped_at_;
        stopped_at_ = signal == SIGCONT ? kNever : std::min(stopped_at_, monotonic_now());
        if (stage_ == Stage::running) command(FrameWriter(FrameType::agent_signal).i32(signal == SIGTSTP ? SIGSTOP : SIGCONT).finish());
        go_if_ready();
        return;
    }
    if (signal == SIGUSR1 || signal == SIGUSR2) {  // these signals are for the programs
        if (stage_ == Stage::running) command(FrameWriter(FrameType::agent_signal).i32(signal).finish());
        return;
    }
    if (living_.empty()) {
        flush_until_ = 0;  // only output that its reader does not take is left, and that is lost
        if (code_ == 0) {
            code_ = 128 + signal;
            say(fmt::format("the launcher got {} before all output was written", describe_signal(signal)));
        }
        return;
    }
    limit_flush();
    if (stage_ <= Stage::running) {
        end(128 + signal, "the launcher got " + describe_signal(signal), signal);
    } else if (stage_ < Stage::terminating) {
        terminate(signal);
    } else {
        flush_until_ = 0;
        kill();
    }
}

}  // namespace rollcall::launcher
