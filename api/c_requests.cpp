/// \file
/// The C interface of requests, with the messages that return one, and of plans.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "api/c.hpp"

using rollcall::Error;
using rollcall::ErrorCode;
using rollcall::Received;
using rollcall::Request;

namespace {

using namespace rollcall::c;

/// Moves the requests of several handles into one array, as the functions of Request take them. The destructor moves them back, and deletes
/// the handles whose request has ended.
class Gathered {
  public:
    Gathered(rollcall_request** requests, std::size_t count) : requests_(requests), count_(count) {
        if (count) checked(requests, "the array of requests");
        check_each_once();
        all.resize(count);
        for (std::size_t i = 0; i < count; ++i)
            if (requests[i]) all[i] = std::move(requests[i]->handle);
    }
    ~Gathered() {
        for (std::size_t i = 0; i < count_; ++i) {
            if (!requests_[i]) continue;
            requests_[i]->handle = std::move(all[i]);
            if (!requests_[i]->handle) delete std::exchange(requests_[i], nullptr);
        }
    }
    Gathered(const Gathered&) = delete;
    Gathered& operator=(const Gathered&) = delete;

    std::vector<Request> all;

  private:
    /// Throws if a request is in the list twice: its second place would still point to it when the first one has deleted it.
    void check_each_once() const {
        const std::span list(requests_, count_);
        const bool is_twice = std::ranges::any_of(list, [](rollcall_request* one) { return one && std::exchange(one->is_listed, true); });
        for (rollcall_request* const one : list)
            if (one) one->is_listed = false;
        if (is_twice) throw Error(ErrorCode::invalid_argument, "the same request stands twice in the list");
    }

    rollcall_request** requests_;
    std::size_t count_;
};

/// Gives the completion that `take_one` takes out of a queue, if any, to the caller. `got` may be null.
template <class Take>
rollcall_status take(rollcall_queue* queue, int* got, rollcall_completion* completion, Take&& take_one) noexcept {
    return guarded([&] {
        rollcall_completion given{sizeof(rollcall_completion), 0, 0, ROLLCALL_OK, -1};
        give(completion, given, "the place for the completion");  // refuses a wrong place before anything is taken
        if (got) *got = 0;
        const std::optional<rollcall::Completion> taken = take_one(checked(queue, "the queue").handle);
        if (!taken) return;
        given.context = taken->context;
        given.received = taken->received.bytes;
        if (taken->error) {
            given.failed_rank = taken->error->failed_rank();
            given.status = fail(status_of(taken->error->code()), taken->error->what(), given.failed_rank);
        }
        give(completion, given, "the place for the completion");
        if (got) *got = 1;
    });
}

/// The common part of test() and wait_for(). `check` refuses a wrong call. `ask` returns what a request received, or nothing while the
/// request goes on.
template <class Check, class Ask>
rollcall_status look(rollcall_request** request, int* done, std::uint64_t* received, Check&& check, Ask&& ask) noexcept {
    return guarded([&] {
        auto& place = checked(request, "the place of the request");
        int& is_done = checked(done, "done");
        // A request whose result was taken has gone, also if it had failed. If the call is refused, the request goes on.
        const auto settle = [&] {
            if (place && !place->handle) delete std::exchange(place, nullptr);
            is_done = !place;
        };
        std::optional<Received> got = Received{};
        try {
            check();
            if (place) got = ask(place->handle);
        } catch (...) {
            settle();
            throw;
        }
        settle();
        if (got && received) *received = got->bytes;
    });
}

}  // namespace

extern "C" {

rollcall_status rollcall_plan_begin(rollcall_plan* plan) {
    return guarded([&] { checked(plan, "the plan").handle.begin(); });
}
rollcall_status rollcall_plan_edge(rollcall_plan* plan, double fraction) {
    return guarded([&] { checked(plan, "the plan").handle.edge(fraction); });
}
rollcall_status rollcall_plan_run(rollcall_plan* plan) {
    return guarded([&] { checked(plan, "the plan").handle.run(); });
}
rollcall_status rollcall_plan_start(rollcall_plan* plan) {
    return guarded([&] { checked(plan, "the plan").handle.start(); });
}
rollcall_status rollcall_plan_wait(rollcall_plan* plan) {
    return guarded([&] { checked(plan, "the plan").handle.wait(); });
}
rollcall_status rollcall_plan_test(rollcall_plan* plan, int* done) {
    return guarded([&] { checked(done, "done") = checked(plan, "the plan").handle.test(); });
}
rollcall_status rollcall_plan_record(const rollcall_plan* plan, rollcall_call_record* record) {
    return guarded([&] { give(record, record_of(checked(plan, "the plan").handle.record()), "the place for the record"); });
}
const char* rollcall_plan_explanation(const rollcall_plan* plan) {
    const char* text = nullptr;
    guarded([&] { text = checked(plan, "the plan").handle.explanation().c_str(); });
    return text;
}
void rollcall_plan_free(rollcall_plan* plan) {
    guarded([&] { delete plan; });
}

rollcall_status rollcall_start_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                                    int64_t timeout, rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_send(data, bytes, to, tag, deadline(timeout)); });
}

rollcall_status rollcall_start_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                       int64_t timeout, rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_receive(data, bytes, from, tag, deadline(timeout)); });
}

rollcall_status rollcall_start_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int64_t timeout,
                                         rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_next_size(from, tag, deadline(timeout)); });
}

rollcall_status rollcall_wait(rollcall_request** request, int64_t timeout, uint64_t* received) {
    return guarded([&] {
        checked(request, "the place of the request");
        const auto limit = deadline(timeout);
        const std::unique_ptr<rollcall_request> waiting(std::exchange(*request, nullptr));
        Received got;
        if (waiting) got = limit ? waiting->handle.wait(*limit) : waiting->handle.wait();
        if (received) *received = got.bytes;
    });
}

rollcall_status rollcall_wait_for(rollcall_request** request, int64_t timeout, int* done, uint64_t* received) {
    std::optional<rollcall::Timeout> limit;
    const auto check = [&] { limit = deadline(timeout); };  // also if the request has ended
    return look(request, done, received, check,
                [&](Request& handle) { return limit ? handle.wait_for(*limit) : std::optional(handle.wait()); });
}

rollcall_status rollcall_test(rollcall_request** request, int* done, uint64_t* received) {
    return look(
        request, done, received, [] {}, [](Request& handle) { return handle.test(); });
}

rollcall_status rollcall_cancel(rollcall_request** request, int* cancelled) {
    return guarded([&] {
        auto& place = checked(request, "the place of the request");
        const bool given_up = place && place->handle.cancel();
        if (given_up) delete std::exchange(place, nullptr);
        if (cancelled) *cancelled = given_up;
    });
}

rollcall_status rollcall_wait_any(rollcall_request** requests, size_t count, int64_t timeout, size_t* index) {
    return guarded([&] {
        const auto limit = deadline(timeout);
        auto& place = checked(index, "the place for the index");
        Gathered gathered(requests, count);
        place = Request::wait_any(gathered.all, limit);
    });
}

rollcall_status rollcall_wait_all(rollcall_request** requests, size_t count, int64_t timeout) {
    return guarded([&] {
        const auto limit = deadline(timeout);
        Gathered gathered(requests, count);
        Request::wait_all(gathered.all, limit);
    });
}

rollcall_status rollcall_queue_create(const rollcall_communicator* communicator, rollcall_queue** queue) {
    return guarded([&] {
        auto& place = checked(queue, "the place for the queue");
        place = nullptr;
        place = new rollcall_queue{rollcall::CompletionQueue(checked(communicator))};
    });
}
rollcall_status rollcall_queue_add(rollcall_queue* queue, rollcall_request** request, uint64_t context) {
    return guarded([&] {
        auto& into = checked(queue, "the queue").handle;
        auto& place = checked(request, "the place of the request");
        into.add(std::move(checked(place, "the request").handle), context);
        delete std::exchange(place, nullptr);
    });
}
size_t rollcall_queue_size(const rollcall_queue* queue) { return queue ? queue->handle.size() : 0; }
rollcall_status rollcall_queue_next(rollcall_queue* queue, rollcall_completion* completion) {
    return take(queue, nullptr, completion, [](rollcall::CompletionQueue& from) { return std::optional(from.next()); });
}
rollcall_status rollcall_queue_next_for(rollcall_queue* queue, int64_t timeout, int* got, rollcall_completion* completion) {
    return take(queue, got, completion, [&](rollcall::CompletionQueue& from) {
        checked(got, "got");
        const auto limit = deadline(timeout);
        return limit ? from.next_for(*limit) : std::optional(from.next());
    });
}
rollcall_status rollcall_queue_try_next(rollcall_queue* queue, int* got, rollcall_completion* completion) {
    return take(queue, got, completion, [&](rollcall::CompletionQueue& from) {
        checked(got, "got");
        return from.try_next();
    });
}
void rollcall_queue_free(rollcall_queue* queue) {
    guarded([&] { delete queue; });
}

void rollcall_request_free(rollcall_request* request) {
    guarded([&] { delete request; });
}

}  // extern "C"
