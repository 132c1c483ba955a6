// How a job ends: why, in which stages, and what becomes of its last output.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "foundation/clock.hpp"
#include "foundation/units.hpp"
#include "launcher/job.hpp"

namespace rollcall::launcher {
namespace {

/// How long a station that gives up a host has to say why.
constexpr Nanoseconds kStationTells = 500 * kMillisecond;

/// A job that was ended from outside waits for its output to be taken: for this long, or for twice --grace if that is longer.
constexpr Timeout kLeastFlush = std::chrono::seconds(1);
/// A process that SIGKILL has not ended after this time will not end. A process with much memory takes seconds.
constexpr Timeout kLongestKill = std::chrono::seconds(10);
/// One sentence names at most this many ranks or hosts.
constexpr std::size_t kMostNamed = 16;

std::string first_of(std::vector<std::string> names) {
    if (names.size() > kMostNamed) {
        names.resize(kMostNamed);
        names.emplace_back("...");
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void Job::not_all_joined() {
    join_until_ = kNever;
    const bool starting = stage_ == Stage::starting;
    std::vector<std::string> missing;
    if (starting) {
        for (const auto& host : order_.hosts) {
            if (unprepared_.contains(host.index)) missing.push_back(host.name);
        }
    } else {
        for (const int rank : living_) {
            if (!joined_.contains(rank)) missing.push_back(fmt::format("{} on {}", rank, host_of_[static_cast<std::size_t>(rank)]->name));
        }
    }
    const std::size_t count = missing.size();
    if (count == 0) return;
    // The station that starts this host gives it up at the same time, and knows what its remote shell has written.
    if (starting && count == 1 && !std::exchange(leaves_it_to_station_, true)) {
        join_until_ = monotonic_now() + kStationTells;
        return;
    }
    const std::string limit = exact_duration(options_.launch_timeout.count());
    const std::string names = first_of(std::move(missing));
    end(kExitTimeout,
        !starting    ? fmt::format("{} of {} ranks have not joined the job within {}: {}", count, order_.size, limit, names)
        : count == 1 ? fmt::format("host {} has not answered within {}", names, limit)
                     : fmt::format("{} of {} hosts have not answered within {}: {}", count, order_.hosts_of_job, limit, names),
        SIGTERM);
}

void Job::limit_flush() {
    if (options_.grace < kForever / 4) flush_until_ = deadline_after(std::max<Timeout>(2 * options_.grace, kLeastFlush));
}

bool Job::can_go_on() const {
    // Ordinary programs never join a job, and do not need each other. Ranks that have joined wait for all others, until all have met.
    return joined_.empty() ? !options_.all_must_join : all_have_met();
}

void Job::fail(const std::vector<int>& ranks, int code, const std::string& sentence, bool started) {
    if (stage_ > Stage::running) return;  // this failure follows from an earlier one
    failures_.count(ranks, code);
    if (!early_.empty()) say(std::exchange(early_, {}));
    const bool is_allowed = started && !failures_.too_many();
    if (is_allowed && can_go_on()) {
        if (joined_.empty() && !failed_before_join_) failed_before_join_ = sentence;
        say(sentence + (living_.empty() ? "" : "; the job goes on, because " + failures_.excuse()));
        return;
    }
    const char* const why = is_allowed ? ", because it needs all ranks to start" : "";
    give_up(code, sentence + (living_.empty() ? "" : fmt::format("; the job is ended{}", why)));
}

void Job::give_up(int code, const std::string& sentence) {
    stage_ = Stage::reporting;
    code_ = code;
    stage_until_ = anyone_to_report() ? deadline_after(options_.grace) : monotonic_now();
    say(sentence);
}

void Job::end(int code, const std::string& sentence, int signal, int ended_by) {
    if (stage_ > Stage::running) return;
    const bool started = stage_ == Stage::running;
    code_ = code;
    say(sentence);
    if (!started) living_.clear();
    command(bootstrap::encode_notice({-1, "the job is being ended: " + sentence, ended_by}));
    if (signal == SIGKILL || !started) {
        kill();
    } else {
        terminate(signal);
    }
}

void Job::terminate(int signal) {
    stage_ = Stage::terminating;
    stage_until_ = deadline_after(options_.grace);
    command(FrameWriter(FrameType::agent_signal).i32(signal).finish());
}

void Job::kill() {
    if (stage_ == Stage::killing) return;  // the stations repeat the kill by themselves
    stage_until_ = deadline_after(kLongestKill);
    stage_ = Stage::killing;
    command(FrameWriter(FrameType::agent_kill).finish());
}

void Job::give_up_killing() {
    std::vector<std::string> names;
    for (const int rank : living_) names.push_back(name_of(rank));
    say(fmt::format(
        "{} cannot be ended: SIGKILL does not end a process that belongs to another user, is held by a debugger, or hangs in the kernel",
        first_of(std::move(names))));
    living_.clear();
}

std::vector<std::string> Job::hosts_still_writing() const {
    std::vector<std::string> names;
    for (auto host = order_.hosts.begin() + 1; host != order_.hosts.end(); ++host) {
        const auto writes = [this](const HostOrder::Rank& rank) { return !output_.has_all_of(rank.rank); };
        if (std::any_of(host->ranks.begin(), host->ranks.end(), writes)) names.push_back(host->name);
    }
    return names;
}

int Job::finish_job() {
    stage_ = Stage::finishing;
    stage_until_ = kNever;
    const bool unlimited = flush_until_ == kNever && ended_at_ != kNever;
    if (unlimited) limit_flush();  // output that came late has this time, too
    if (unlimited) flush_until_ = std::max(flush_until_, ended_at_);
    if (code_ == 0) code_ = failures_.code();
    finish(code_ != 0 || failures_.any());  // also if the job has outlived failures, it leaves no files
    // Agents may still send output, and this process passes it on. The agents end by themselves, or are lost when nothing is heard of them.
    while (!below_over() && monotonic_now() < flush_until_) tick();
    auto missing = below_over() ? std::vector<std::string>() : hosts_still_writing();
    kill_shells();
    output_.end_fed();
    output_.finish();
    while (!output_.idle() && monotonic_now() < flush_until_) tick();
    const bool idle = output_.idle();
    if (code_ == 0 && (!idle || !missing.empty()) && ended_at_ <= monotonic_now()) {
        code_ = kExitTimeout;
        const std::string limit = exact_duration(options_.timeout.count());
        say(!idle ? fmt::format("not all output was taken within the time limit of {}", limit)
                  : fmt::format("the last output of host{} {} has not come within the time limit of {}", missing.size() > 1 ? "s" : "",
                                first_of(std::move(missing)), limit));
    }
    if (idle) output_.check_files();
    if (!output_.failure().empty()) {
        if (!failure_is_said_) say(output_.failure());
        if (code_ == 0) code_ = 1;
    }
    return code_;
}

}  // namespace rollcall::launcher
