// How a job ends: why, in which stages, and what becomes of its last output.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>

#include "foundation/clock.hpp"
#include "foundation/units.hpp"
#include "launcher/job.hpp"

namespace rollcall::launcher {
namespace {

/// A job that was ended from outside waits for its output to be taken: for this long, or for twice --grace if that is longer.
constexpr Timeout kLeastFlush = std::chrono::seconds(1);
/// A process that SIGKILL has not ended after this time will not end. A process with much memory takes seconds.
constexpr Timeout kLongestKill = std::chrono::seconds(10);
/// One sentence names at most this many ranks.
constexpr std::size_t kMostNamed = 16;

}  // namespace

void Job::not_all_joined() {
    join_until_ = kNever;
    const bool starting = stage_ == Stage::starting;
    std::vector<std::string> missing;
    std::size_t count = 0;
    const auto add = [&](const std::string& name) {
        if (++count <= kMostNamed) missing.push_back(name);
    };
    if (starting) {
        for (const auto& host : order_.hosts) {
            if (unprepared_.contains(host.index)) add(host.name);
        }
    } else {
        for (const int rank : living_) {
            if (!joined_.contains(rank)) add(fmt::format("{} on {}", rank, host_of_[static_cast<std::size_t>(rank)]->name));
        }
    }
    if (count == 0) return;
    const std::string limit = exact_duration(options_.launch_timeout.count());
    const std::string names = fmt::format("{}{}", fmt::join(missing, ", "), count > kMostNamed ? ", ..." : "");
    end(kExitTimeout,
        !starting    ? fmt::format("{} of {} ranks have not joined the job within {}: {}", count, order_.size, limit, names)
        : count == 1 ? fmt::format("host {} has not answered within {}", names, limit)
                     : fmt::format("{} of {} hosts have not answered within {}: {}", count, order_.hosts_of_job, limit, names),
        SIGTERM);
}

void Job::limit_flush() {
    if (options_.grace < kForever / 4) flush_until_ = deadline_after(std::max<Timeout>(2 * options_.grace, kLeastFlush));
}

void Job::fail(int code, const std::string& sentence) {
    if (stage_ > Stage::running) return;  // this failure follows from an earlier one
    stage_ = Stage::reporting;
    code_ = code;
    stage_until_ = anyone_to_report() ? deadline_after(options_.grace) : monotonic_now();
    if (!early_.empty()) say(early_);
    say(sentence + (living_.empty() ? "" : "; the job is ended"));
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
    for (const int rank : living_) {
        names.push_back(names.size() < kMostNamed ? who(rank) : "...");
        if (names.size() > kMostNamed) break;
    }
    say(fmt::format(
        "{} cannot be ended: SIGKILL does not end a process that belongs to another user, is held by a debugger, or hangs in the kernel",
        fmt::join(names, ", ")));
    living_.clear();
}

int Job::finish_job() {
    stage_ = Stage::finishing;
    stage_until_ = kNever;
    const bool unlimited = flush_until_ == kNever && ended_at_ != kNever;
    if (unlimited) limit_flush();  // output that came late has this time, too
    if (unlimited) flush_until_ = std::max(flush_until_, ended_at_);
    finish(code_ != 0);
    // Agents may still send output, and this process passes it on. The agents end by themselves, or are lost when nothing is heard of them.
    while (!below_over() && monotonic_now() < flush_until_) tick();
    kill_shells();
    output_.end_fed();
    output_.finish();
    while (!output_.idle() && monotonic_now() < flush_until_) tick();
    if (output_.idle()) {
        output_.check_files();
    } else if (code_ == 0 && ended_at_ <= monotonic_now()) {
        code_ = kExitTimeout;
        say(fmt::format("not all output was taken within the time limit of {}", exact_duration(options_.timeout.count())));
    }
    if (!output_.failure().empty()) {
        if (!failure_is_said_) say(output_.failure());
        if (code_ == 0) code_ = 1;
    }
    return code_;
}

}  // namespace rollcall::launcher
