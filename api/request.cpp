#include <rollcall/request.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"
#include "foundation/clock.hpp"
#include "foundation/units.hpp"

namespace rollcall {

Received collect(std::unique_ptr<Request::Implementation> done) {
    const Error* error = done->waitable().error();
    if (!error) return {done->received()};
    if (done->operation) done->lane().flush_failure_notices();
    if (done->operation) throw Error(*error);  // it names the operation already
    throw_named(*error, done->describe());
}

namespace {

Timeout time_until(Nanoseconds deadline) {
    return deadline == kNever ? kForever : Timeout(std::max<Nanoseconds>(0, deadline - monotonic_now()));
}

}  // namespace

Timeout checked_timeout(Timeout timeout) {
    if (timeout.count() >= 0) return timeout;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a timeout of {} ns is below 0: give the time that the call may take, or kForever", timeout.count()));
}

runtime::Waitable& Request::Implementation::waitable() {
    if (transfer) return *transfer;
    if (peek) return *peek;
    return *operation;
}

void Request::Implementation::watch(runtime::Watcher& watcher) {
    if (transfer) return transfer->watch(watcher);
    if (peek) return peek->watch(watcher);
    operation->watch(watcher);
}

std::string Request::Implementation::describe() const {
    if (transfer) return communicator->describe(*transfer);
    return peek ? communicator->describe_look("start_next_size", peek->key) : operation->describe();
}

std::uint64_t Request::Implementation::received() const noexcept {
    if (peek) return peek->size;
    return transfer && transfer->direction == runtime::Transfer::Direction::receive ? transfer->received : 0;
}

void Request::Implementation::limit(const std::optional<Timeout>& timeout) {
    if (!timeout) return;
    own_timeout = timeout;
    own_deadline = deadline_after(*timeout);
}

void Request::Implementation::give_up(Timeout after) {
    lane().abandon(waitable(), [&] { return unfinished_error(*communicator->process, describe(), after); });
}

void Request::Implementation::end_with_job() {
    if (waitable().done() || !communicator->process->finalized()) return;
    lane().abandon(waitable(), [&] { return ended_error(*communicator->process, describe()); });
}

void Request::Implementation::expire() {
    end_with_job();
    if (own_deadline != kNever && !waitable().done() && monotonic_now() >= own_deadline) give_up(*own_timeout);
}

bool Request::Implementation::wait(Timeout timeout) {
    end_with_job();
    const bool own_is_first = own_deadline != kNever && own_deadline < deadline_after(timeout);
    if (lane().wait(waitable(), own_is_first ? time_until(own_deadline) : timeout)) return true;
    end_with_job();  // which ends waits, too
    if (own_is_first && !waitable().done()) give_up(*own_timeout);
    return waitable().done();
}

Request::Request() = default;
Request::Request(std::unique_ptr<Implementation> implementation) noexcept : implementation_(std::move(implementation)) {}
Request::Request(Request&& other) noexcept = default;

Request& Request::operator=(Request&& other) noexcept {
    Request taken(std::move(other));
    std::swap(implementation_, taken.implementation_);  // the old request of this object is abandoned with `taken`
    return *this;
}

Request::~Request() {
    if (!implementation_ || implementation_->waitable().done()) return;
    if (implementation_->communicator->process->forked()) {
        (void)implementation_.release();  // it belongs to the parent process
        return;
    }
    implementation_->lane().abandon(implementation_->waitable(), [this] {
        return Error(ErrorCode::state,
                     fmt::format("{} was abandoned: its request was destroyed before it was done", implementation_->describe()));
    });
}

Received Request::wait(Timeout timeout) {
    checked_timeout(timeout);
    if (!implementation_) return {};
    implementation_->communicator->process->check_not_forked();
    auto waiting = std::move(implementation_);
    if (!waiting->wait(timeout)) waiting->give_up(timeout);
    return collect(std::move(waiting));
}

Received Request::wait() {
    if (!implementation_) return {};
    return wait(implementation_->own_timeout ? kForever : implementation_->communicator->deadline({}));
}

std::optional<Received> Request::wait_for(Timeout timeout) {
    checked_timeout(timeout);
    if (!implementation_) return Received{};
    implementation_->communicator->process->check_not_forked();
    if (!implementation_->wait(timeout)) return std::nullopt;
    return collect(std::move(implementation_));
}

std::optional<Received> Request::test() {
    if (!implementation_) return Received{};
    implementation_->communicator->process->check_not_forked();
    if (!implementation_->waitable().done()) implementation_->lane().progress();
    implementation_->expire();
    if (!implementation_->waitable().done()) return std::nullopt;
    return collect(std::move(implementation_));
}

bool Request::cancel() {
    if (!implementation_) return false;
    implementation_->communicator->process->check_not_forked();
    runtime::Waitable& waitable = implementation_->waitable();
    if (waitable.done()) return false;
    implementation_->lane().abandon(waitable, [this] { return Error(ErrorCode::state, implementation_->describe() + " was cancelled"); });
    // The request may have ended just before, or have failed for another reason.
    if (!waitable.error() || waitable.error()->code() != ErrorCode::state) return false;
    if (implementation_->operation) implementation_->lane().flush_failure_notices();
    implementation_.reset();
    return true;
}

std::size_t Request::wait_any(std::span<Request> requests, std::optional<Timeout> timeout) {
    if (timeout) checked_timeout(*timeout);
    std::vector<runtime::Waitable*> waitables;
    std::vector<std::size_t> indices;
    Nanoseconds first_own = kNever;
    Implementation* last = nullptr;
    bool all_have_own = true;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (!requests[i]) continue;
        Implementation* const before = std::exchange(last, requests[i].implementation_.get());
        // Each job has a lane of its own. A thread that sleeps in one lane is not woken by what ends in another one.
        if (before && before->communicator->process != last->communicator->process)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("wait_any: {} and {} belong to different jobs, or to a job and its connection to another one: wait for "
                                    "the requests of each by themselves",
                                    before->describe(), last->describe()));
        last->communicator->process->check_not_forked();
        last->end_with_job();
        waitables.push_back(&last->waitable());
        indices.push_back(i);
        first_own = std::min(first_own, last->own_deadline);
        all_have_own = all_have_own && last->own_timeout;
    }
    if (!last) throw Error(ErrorCode::invalid_argument, "wait_any: there is no request to wait for: all are empty");
    const Timeout limit = !timeout && all_have_own ? kForever : last->communicator->deadline(timeout);
    const Nanoseconds deadline = deadline_after(limit);
    const int first = last->lane().wait_any(waitables, time_until(std::min(deadline, first_own)));
    if (first >= 0) return indices[static_cast<std::size_t>(first)];
    if (first_own <= deadline || last->communicator->process->finalized())
        for (const std::size_t i : indices) {
            requests[i].implementation_->expire();
            if (requests[i].implementation_->waitable().done()) return i;
        }
    throw Error(ErrorCode::timeout, fmt::format("wait_any: none of {} requests ended within {}", waitables.size(),
                                                format_duration(static_cast<double>(limit.count()) * 1e-9)));
}

// There is one deadline for all requests; the setting is none for those that were given one of their own. No request is abandoned before
// the others have had their time, too.
void Request::wait_all(std::span<Request> requests, std::optional<Timeout> timeout) {
    if (timeout) checked_timeout(*timeout);
    const auto one = std::find_if(requests.begin(), requests.end(), [](const Request& request) { return bool(request); });
    if (one == requests.end()) return;
    const Timeout limit = one->implementation_->communicator->deadline(timeout);
    const Nanoseconds deadline = deadline_after(limit);
    std::vector<Implementation*> late;
    std::size_t count = 0;
    for (Request& request : requests) {
        if (!request) continue;
        Implementation& waiting = *request.implementation_;
        waiting.communicator->process->check_not_forked();
        ++count;
        const bool only_own = !timeout && waiting.own_timeout;
        if (!waiting.wait(only_own ? kForever : time_until(deadline))) late.push_back(&waiting);
    }
    if (!late.empty()) {
        const std::string which = fmt::format("{} of the {} requests of wait_all (the first: {})", late.size(), count, late[0]->describe());
        const Error error = unfinished_error(*late[0]->communicator->process, which, limit);
        for (Implementation* request : late) request->lane().abandon(request->waitable(), [&] { return error; });
    }
    std::optional<Error> first;
    for (Request& request : requests) {
        if (!request) continue;
        try {
            collect(std::move(request.implementation_));
        } catch (const Error& error) {
            if (!first) first = error;
        }
    }
    if (first) throw Error(*first);
}

}  // namespace rollcall
