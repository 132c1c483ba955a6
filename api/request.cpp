#include <rollcall/request.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"

namespace rollcall {
namespace {

// Takes the result of an operation that is done, and lets it go.
Received collect(std::unique_ptr<Request::Implementation> done) {
    const Error* error = done->waitable().error();
    const bool receives = done->transfer && done->transfer->direction == runtime::Transfer::Direction::receive;
    if (!error) return {receives ? done->transfer->received : 0};
    if (done->operation || error->code() == ErrorCode::timeout) throw Error(*error);
    throw Error(error->code(), fmt::format("{}: {}", done->describe(), error->what()), error->failed_rank());
}

}  // namespace

Error Request::Implementation::timed_out(Timeout timeout) const { return timeout_error(*communicator->process, describe(), timeout); }

Request::Request() = default;
Request::Request(std::unique_ptr<Implementation> implementation) noexcept : implementation_(std::move(implementation)) {}
Request::Request(Request&& other) noexcept = default;

Request& Request::operator=(Request&& other) noexcept {
    Request taken(std::move(other));
    std::swap(implementation_, taken.implementation_);  // what was here is abandoned with `taken`
    return *this;
}

Request::~Request() {
    if (!implementation_ || implementation_->waitable().done()) return;
    implementation_->lane().abandon(implementation_->waitable(),
                                    Error(ErrorCode::state, fmt::format("{} was abandoned: its request was destroyed before it was done",
                                                                        implementation_->describe())));
}

Received Request::wait(Timeout timeout) {
    if (!implementation_) return {};
    auto waiting = std::move(implementation_);
    if (!waiting->lane().wait(waiting->waitable(), timeout)) waiting->lane().abandon(waiting->waitable(), waiting->timed_out(timeout));
    return collect(std::move(waiting));
}

Received Request::wait() {
    if (!implementation_) return {};
    return wait(implementation_->communicator->deadline({}));
}

std::optional<Received> Request::test() {
    if (!implementation_) return Received{};
    if (!implementation_->waitable().done()) implementation_->lane().progress();
    if (!implementation_->waitable().done()) return std::nullopt;
    return collect(std::move(implementation_));
}

std::size_t Request::wait_any(std::span<Request> requests, Timeout timeout) {
    std::vector<runtime::Waitable*> waitables;
    std::vector<std::size_t> indices;
    runtime::Lane* lane = nullptr;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (!requests[i]) continue;
        waitables.push_back(&requests[i].implementation_->waitable());
        indices.push_back(i);
        lane = &requests[i].implementation_->lane();
    }
    if (!lane) throw Error(ErrorCode::invalid_argument, "wait_any: there is no request to wait for: all are empty");
    const int first = lane->wait_any(waitables, timeout);
    if (first < 0)
        throw Error(ErrorCode::timeout, fmt::format("wait_any: none of {} requests ended within {}", waitables.size(),
                                                    runtime::format_duration(static_cast<double>(timeout.count()) * 1e-9)));
    return indices[static_cast<std::size_t>(first)];
}

void Request::wait_all(std::span<Request> requests, Timeout timeout) {
    const Nanoseconds deadline = timeout == kForever ? 0 : runtime::monotonic_now() + timeout.count();
    std::unique_ptr<Error> first;
    for (Request& request : requests) {
        try {
            request.wait(timeout == kForever ? kForever : Timeout(std::max<Nanoseconds>(0, deadline - runtime::monotonic_now())));
        } catch (const Error& error) {
            if (!first) first = std::make_unique<Error>(error);
        }
    }
    if (first) throw Error(*first);
}

}  // namespace rollcall
