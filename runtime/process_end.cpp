// The end of a process of a job: its calls end, then its transfers, then its connections (docs/architecture/starting.md).
#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>

#include "foundation/log.hpp"
#include "foundation/units.hpp"
#include "runtime/process.hpp"

namespace rollcall::runtime {
namespace {

// Limits for leaving the job when no rank has died. After kCloseTimeout a rank leaves with connections that are not closed. The other ranks
// wait longer for it, so that they leave in good order.
constexpr Timeout kCloseTimeout = std::chrono::seconds(5);
constexpr Timeout kLeaveTimeout = std::chrono::seconds(10);
// After a failure a rank waits so long for messages that living ranks have not taken yet, although their sends have succeeded. At the end
// of a smaller job it waits so long until all know that all have come.
constexpr Nanoseconds kDeliverWithin = 1000 * kMillisecond;
// What the network library holds leaves as soon as a receiver reads. (Over TCP, UCX also waits for an answer of each rank, even if it holds
// nothing.)
constexpr Nanoseconds kFlushWithin = 100 * kMillisecond;
constexpr std::chrono::microseconds kPauseOfLeaving(50);

constexpr const char* kFinalizeFailed = "left the job after its finalize() had failed";

}  // namespace

void Process::finalize() {
    check_not_forked();
    std::optional<Error> of_connection;
    if (!finalized()) of_connection = end_connections();
    if (finalized_.exchange(true)) return;
    EndFailures found;
    try {
        found = end_transfers();
    } catch (...) {  // this process has no memory
        stop_lane();
        bootstrap_->farewell(kFinalizeFailed);
        bootstrap_->vanish();  // the others do not wait for this process, which may live on
        throw;
    }
    stop_lane();
    auto& [failure, untold] = found;
    if (of_connection && (failure || untold)) {
        log_message(LogLevel::warn, "{}{}", in_log(), of_connection->what());
    } else if (of_connection) {
        untold = of_connection;
    }
    if (failure) leave_because_of(*failure);
    bootstrap_->leave();
    // Error{state} would say that the job goes on.
    if (untold && untold->code() == ErrorCode::state) throw Error(ErrorCode::mismatch, untold->what(), untold->failed_rank());
    if (untold) throw Error(*untold);
}

// Threads that still wait in this job are woken. Otherwise they could take what happens from here on for the loss of the job.
void Process::stop_lane() noexcept {
    lane_->stop_background();
    lane_->end();
}

Process::EndFailures Process::end_transfers() {
    EndFailures found;
    auto& [failure, untold] = found;
    bool is_smaller = false;  // ranks were lost, and the others have gone on without them
    lane_->as_owner([&](Engine& engine) {
        engine.expect_no_call();
        failure = engine.loss();
        is_smaller = engine.has_gone_on();
    });
    if (!failure) try {
            if (is_smaller) {
                meet_those_left();
                lane_->as_owner([](Engine& engine) { engine.expect_departures(); });
            } else if (place().size > 1) {
                meet_all_and_close();
            }
        } catch (const Error& error) {
            failure = error;
        }
    // (The starter's barrier would wait for ranks that are lost, and a connection cannot be closed in good order with one end.)
    if ((failure || is_smaller) && place().size > 1) deliver_what_can_be();
    lane_->stop_background();
    lane_->as_owner([&](Engine& engine) {
        if (const Error* other = engine.untold()) untold = *other;
        if (!failure) return;
        const auto add = [&](std::string_view sentence) {
            if (sentence.empty() || std::string_view(failure->what()).ends_with(sentence)) return;
            failure = Error(failure->code(), fmt::format("{}; {}", failure->what(), sentence), failure->failed_rank());
        };
        add(engine.undelivered());  // The end may have failed before the engine knew of a lost message.
        if (untold) add(untold->what());
    });
    return found;
}

void Process::meet_all_and_close() {
    lane_->flush_failure_notices();  // that calls do not match, for example
    deliver_what_is_left();
    bootstrap_->barrier([&] { lane_->progress(); }, settings_.timeout ? Timeout(settings_.timeout) : kForever);
    // Offers that no rank will fetch any more may still be on their way. A rank closes its connections only after all ranks know that
    // theirs were declined. It drives progress until all ranks have closed their connections, because over TCP a close needs the other
    // side.
    lane_->as_owner([&](Engine& engine) { engine.expect_departures(); });
    lane_->stop_background();
    const auto progress = [&] { lane_->as_owner([&](Engine&) { progress_transports(); }); };
    const Nanoseconds until = monotonic_now() + kCloseTimeout.count();
    progress_until([](const transport::Transport& transport) { return transport.settled(); }, until);
    bootstrap_->barrier(progress, kLeaveTimeout);
    progress_until([](transport::Transport& transport) { return transport.close(); }, until);
    bootstrap_->barrier(progress, kLeaveTimeout);
}

// bootstrap_->leave() is not called, so ranks that still wait for this one learn that it went. The hubs tell sentences that are alike
// together. So the sentence has no more than the rank of the failure.
void Process::leave_because_of(const Error& failure) {
    try {
        bootstrap_->farewell(failure.failed_rank() < 0 ? kFinalizeFailed
                                                       : fmt::format("{} because of rank {}", kFinalizeFailed, failure.failed_rank()));
    } catch (const std::bad_alloc&) {
        bootstrap_->farewell(kFinalizeFailed);
        throw;
    }
    throw Error(failure.code(), fmt::format("{} failed: {}", way_out(), failure.what()), failure.failed_rank());
}

void Process::meet_those_left() {
    lane_->flush_failure_notices();
    deliver_what_is_left();
    AgreementCall all(world_, place().rank, kAllAtTheEnd, {});
    const Timeout limit = settings_.timeout ? Timeout(settings_.timeout) : kForever;
    if (!lane_->run(all, limit))
        lane_->abandon(all, [&] {
            return Error(ErrorCode::timeout, fmt::format("{}: the other ranks that are left did not come within {}", name_of(place().rank),
                                                         format_duration(static_cast<double>(limit.count()) * 1e-9)));
        });
    if (all.error()) throw Error(*all.error());
    std::optional<Error> failure;
    lane_->as_owner([&](Engine& engine) { failure = engine.loss(); });
    if (failure) throw Error(*failure);
    // Over TCP the messages of a rank that leaves may be lost if they have not been read. So a rank leaves when all know that all are here.
    // From now on a rank that goes is no failure.
    AgreementCall leave(world_, place().rank, kAllMayLeave, {});
    if (!lane_->run(leave, std::chrono::nanoseconds(kDeliverWithin))) lane_->abandon(leave, Error(ErrorCode::timeout, ""));
}

void Process::vanish(const char* why) noexcept {
    if (finalized_.exchange(true)) return;
    try {
        for (const auto& connection : connections()) connection->vanish(why);
    } catch (const std::bad_alloc&) {  // the other jobs learn only that this process is gone
    }
    stop_lane();
    bootstrap_->farewell(why);
    bootstrap_->vanish();
}

// Waits until the data has left that calls have handed over, and the data that this rank passes on for others.
void Process::deliver_what_is_left() {
    const Nanoseconds limit = settings_.timeout ? deadline_after(Timeout(settings_.timeout)) : kNever;
    for (;;) {
        std::uint64_t left = 0;
        std::optional<Error> failure;
        lane_->as_owner([&](Engine& engine) {
            left = engine.deputies_under_way();
            failure = engine.loss();
        });
        if (failure) throw *failure;
        if (left == 0) return;
        if (monotonic_now() > limit)
            throw Error(ErrorCode::timeout,
                        fmt::format("{}: the data of {} collective call{} that had returned was not sent within {} (ROLLCALL_TIMEOUT); a "
                                    "receiver may be late, or stopped",
                                    name_of(place().rank), left, left == 1 ? "" : "s",
                                    format_duration(static_cast<double>(settings_.timeout) * 1e-9)));
        lane_->progress();
        std::this_thread::sleep_for(kPauseOfLeaving);
    }
}

void Process::deliver_what_can_be() {
    const Nanoseconds until = monotonic_now() + kDeliverWithin;
    for (;;) {
        bool left = false;
        lane_->as_owner([&](Engine& engine) { left = engine.kept_sends() + engine.deputies_under_way() > 0; });
        if (!left || monotonic_now() >= until) break;
        lane_->progress();
        std::this_thread::sleep_for(kPauseOfLeaving);
    }
    struct Flush final : transport::Completion {
        void complete(transport::Outcome) noexcept override { is_pending = false; }
        bool is_pending = false;
    };
    std::vector<Flush> flushes(static_cast<std::size_t>(place().size));
    lane_->as_owner([&](Engine&) {
        for (std::size_t peer = 0; peer < flushes.size(); ++peer)
            flushes[peer].is_pending = transport().flush(static_cast<int>(peer), flushes[peer]) == transport::Started::pending;
    });
    progress_until([&](const transport::Transport&) { return std::ranges::none_of(flushes, &Flush::is_pending); },
                   monotonic_now() + kFlushWithin);
    lane_->as_owner([&](Engine&) {
        for (std::size_t peer = 0; peer < flushes.size(); ++peer)
            if (flushes[peer].is_pending) transport().release(static_cast<int>(peer), flushes[peer]);
    });
}

void Process::progress_until(const std::function<bool(transport::Transport&)>& done, Nanoseconds until) {
    // Another thread may call progress().
    lane_->as_owner([&](Engine&) {
        const auto all_done = [&] {
            bool all = true;
            for (const auto& transport : transports_) all = done(*transport) && all;
            return all;
        };
        while (!all_done() && monotonic_now() < until)
            if (!progress_transports()) sched_yield();  // the rank on the other side may need this core
    });
}

bool Process::progress_transports() {
    unsigned happened = 0;
    for (const auto& transport : transports_) happened += transport->progress();
    return happened != 0;
}

}  // namespace rollcall::runtime
