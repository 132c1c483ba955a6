/// \file
/// The C face: each function is its C++ call, with exceptions made statuses.
#include <rollcall/rollcall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/rollcall.hpp>

using rollcall::Communicator;
using rollcall::Error;
using rollcall::ErrorCode;
using rollcall::Received;
using rollcall::Request;
using rollcall::Timeout;

struct rollcall_communicator {
    Communicator handle;
};

struct rollcall_request {
    Request handle;
};

struct rollcall_plan {
    rollcall::Plan handle;
};

struct rollcall_job {
    rollcall_job() = default;
    explicit rollcall_job(const rollcall::Embedding& embedding) : job(embedding) {}
    rollcall::Job job;
    rollcall_communicator world{job.world()};
};

namespace {

constexpr rollcall_status status_of(ErrorCode code) { return static_cast<rollcall_status>(static_cast<int>(code) + 1); }
static_assert(status_of(ErrorCode::invalid_argument) == ROLLCALL_INVALID_ARGUMENT &&
              status_of(ErrorCode::invalid_setting) == ROLLCALL_INVALID_SETTING && status_of(ErrorCode::mismatch) == ROLLCALL_MISMATCH &&
              status_of(ErrorCode::truncated) == ROLLCALL_TRUNCATED && status_of(ErrorCode::peer_failed) == ROLLCALL_PEER_FAILED &&
              status_of(ErrorCode::timeout) == ROLLCALL_TIMEOUT && status_of(ErrorCode::bootstrap) == ROLLCALL_BOOTSTRAP &&
              status_of(ErrorCode::transport) == ROLLCALL_TRANSPORT && status_of(ErrorCode::state) == ROLLCALL_STATE);
static_assert(ROLLCALL_UNIQUE_ID_BYTES == rollcall::UniqueId::kBytes);
static_assert(ROLLCALL_NO_COLOR == Communicator::kNoColor);

/// The last failure of a thread. Of a fixed size: it must be told also when memory has run out.
struct LastError {
    char sentence[2048] = "";
    int rank = -1;
};
thread_local LastError last_error;

rollcall_status fail(rollcall_status status, const char* sentence, int rank = -1) noexcept {
    std::snprintf(last_error.sentence, sizeof last_error.sentence, "%s", sentence);
    last_error.rank = rank;
    return status;
}

template <class Work>
rollcall_status guarded(Work&& work) noexcept {
    try {
        work();
        return ROLLCALL_OK;
    } catch (const Error& error) {
        return fail(status_of(error.code()), error.what(), error.failed_rank());
    } catch (const std::bad_alloc&) {
        return fail(ROLLCALL_INTERNAL, "memory ran out");
    } catch (const std::exception& error) {
        return fail(ROLLCALL_INTERNAL, error.what());
    } catch (...) {
        return fail(ROLLCALL_INTERNAL, "an unknown exception was thrown");
    }
}

template <class Pointer>
auto& checked(Pointer* pointer, const char* what) {
    if (!pointer) throw Error(ErrorCode::invalid_argument, std::string(what) + " is a null pointer");
    return *pointer;
}

const Communicator& checked(const rollcall_communicator* communicator) { return checked(communicator, "the communicator").handle; }

std::optional<Timeout> deadline(std::int64_t timeout) {
    if (timeout == ROLLCALL_DEFAULT_TIMEOUT) return std::nullopt;
    if (timeout < 0)
        throw Error(ErrorCode::invalid_argument, "a timeout is negative: use ROLLCALL_DEFAULT_TIMEOUT, ROLLCALL_FOREVER, or nanoseconds");
    return Timeout(timeout);
}

rollcall::CollectiveOptions options_of(const rollcall_collective_options* given) {
    rollcall::CollectiveOptions options;
    if (!given) return options;
    if (given->segment_bytes < -1)
        throw Error(ErrorCode::invalid_argument, "segment_bytes is negative: use -1 for the setting, 0 for whole");
    if (given->algorithm) options.algorithm = given->algorithm;
    if (given->segment_bytes >= 0) options.segment_bytes = static_cast<std::uint64_t>(given->segment_bytes);
    options.timeout = deadline(given->timeout);
    return options;
}

rollcall::PlanOptions plan_options_of(const rollcall_collective_options* given, rollcall_predictor predictor) {
    static_assert(static_cast<int>(rollcall::Predictor::edge_linear) == ROLLCALL_EDGE_LINEAR &&
                  static_cast<int>(rollcall::Predictor::last) == ROLLCALL_LAST &&
                  static_cast<int>(rollcall::Predictor::moving_average) == ROLLCALL_MOVING_AVERAGE &&
                  static_cast<int>(rollcall::Predictor::exponential) == ROLLCALL_EXPONENTIAL);
    if (predictor < ROLLCALL_EDGE_LINEAR || predictor > ROLLCALL_EXPONENTIAL)
        throw Error(ErrorCode::invalid_argument, "the predictor is none of rollcall_predictor");
    const rollcall::CollectiveOptions options = options_of(given);
    return {options.algorithm, options.segment_bytes, options.timeout, static_cast<rollcall::Predictor>(predictor)};
}

template <class Make>
rollcall_status make_plan(rollcall_plan** plan, Make&& make) noexcept {
    return guarded([&] {
        auto& place = checked(plan, "the place for the plan");
        place = nullptr;
        auto made = std::make_unique<rollcall_plan>();
        made->handle = make();
        place = made.release();
    });
}

/// Starts something and gives it to the caller.
template <class Start>
rollcall_status start(rollcall_request** request, Start&& start_it) noexcept {
    return guarded([&] {
        auto& result = checked(request, "the place for the request");
        result = nullptr;
        // Made first: a started operation could only be abandoned.
        auto handle = std::make_unique<rollcall_request>();
        handle->handle = start_it();
        result = handle.release();
    });
}

rollcall_status give(rollcall_communicator** result, Communicator made) noexcept {
    return guarded([&] { *result = made ? new rollcall_communicator{std::move(made)} : nullptr; });
}

/// Requests of several handles as the span that Request's functions take; given back when this goes.
class Gathered {
  public:
    Gathered(rollcall_request** requests, std::size_t count) : requests_(requests), count_(count) {
        if (count) checked(requests, "the array of requests");
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
    rollcall_request** requests_;
    std::size_t count_;
};

}  // namespace

extern "C" {

const char* rollcall_last_error(void) { return last_error.sentence; }
int rollcall_failed_rank(void) { return last_error.rank; }

const char* rollcall_status_name(rollcall_status status) {
    if (status == ROLLCALL_OK) return "ok";
    if (status > ROLLCALL_OK && status < ROLLCALL_INTERNAL) return rollcall::name(static_cast<ErrorCode>(static_cast<int>(status) - 1));
    return "internal";
}

rollcall_status rollcall_init(rollcall_job** job) {
    return guarded([&] {
        auto& place = checked(job, "the place for the job");
        place = nullptr;
        place = new rollcall_job;
    });
}

rollcall_status rollcall_make_unique_id(rollcall_unique_id* id) {
    return guarded([&] {
        auto& place = checked(id, "the place for the unique id");
        const rollcall::UniqueId made = rollcall::make_unique_id();
        std::memcpy(place.bytes, made.bytes.data(), sizeof place.bytes);
    });
}

rollcall_status rollcall_init_by_unique_id(rollcall_job** job, int rank, int size, const rollcall_unique_id* id) {
    return guarded([&] {
        auto& place = checked(job, "the place for the job");
        place = nullptr;
        rollcall::Embedding embedding;
        embedding.rank = rank;
        embedding.size = size;
        std::memcpy(embedding.unique_id.emplace().bytes.data(), checked(id, "the unique id").bytes, ROLLCALL_UNIQUE_ID_BYTES);
        place = new rollcall_job(embedding);
    });
}

rollcall_status rollcall_init_by_allgather(rollcall_job** job, int rank, int size, rollcall_allgather allgather, void* context) {
    return guarded([&] {
        auto& place = checked(job, "the place for the job");
        place = nullptr;
        if (allgather == nullptr) throw Error(ErrorCode::invalid_argument, "the allgather is a null pointer");
        rollcall::Embedding embedding;
        embedding.rank = rank;
        embedding.size = size;
        embedding.allgather = [=](std::span<const std::byte> mine, std::span<std::byte> all) {
            const int code = allgather(context, mine.data(), mine.size(), all.data());
            if (code != 0) throw Error(ErrorCode::bootstrap, "the embedding program's allgather has failed with " + std::to_string(code));
        };
        place = new rollcall_job(embedding);
    });
}

rollcall_status rollcall_finalize(rollcall_job* job) {
    const rollcall_status status = guarded([&] { checked(job, "the job").job.finalize(); });
    const rollcall_status freed = guarded([&] { delete job; });
    return status != ROLLCALL_OK ? status : freed;
}

void rollcall_abort(rollcall_job* job, int code, const char* why) {
    if (job) guarded([&] { job->job.abort(code, why ? why : ""); });
    std::_Exit(code);
}

const rollcall_communicator* rollcall_world(const rollcall_job* job) { return job ? &job->world : nullptr; }

rollcall_status rollcall_synchronize_clocks(rollcall_job* job, int64_t window, int64_t* error) {
    return guarded([&] {
        const std::chrono::nanoseconds time = window ? std::chrono::nanoseconds(window) : rollcall::Job::kClockWindow;
        const auto off = checked(job, "the job").job.synchronize_clocks(time);
        if (error) *error = off;
    });
}
rollcall_status rollcall_time(const rollcall_job* job, int64_t* time) {
    return guarded([&] { checked(time, "the place for the time") = checked(job, "the job").job.time(); });
}

rollcall_status rollcall_progress(rollcall_job* job, int* happened) {
    return guarded([&] {
        const bool moved = checked(job, "the job").job.progress();
        if (happened) *happened = moved;
    });
}
int rollcall_progress_descriptor(const rollcall_job* job) { return job ? job->job.progress_descriptor() : -1; }
rollcall_status rollcall_prepare_to_sleep(rollcall_job* job, int* may_sleep) {
    return guarded([&] { checked(may_sleep, "may_sleep") = checked(job, "the job").job.prepare_to_sleep(); });
}

int rollcall_rank(const rollcall_communicator* communicator) { return communicator ? communicator->handle.rank() : -1; }
int rollcall_size(const rollcall_communicator* communicator) { return communicator ? communicator->handle.size() : -1; }

rollcall_status rollcall_split(const rollcall_communicator* communicator, int color, int key, rollcall_communicator** result) {
    Communicator made;
    const rollcall_status status = guarded([&] {
        checked(result, "the place for the communicator") = nullptr;
        made = checked(communicator).split(color, key);
    });
    return status == ROLLCALL_OK ? give(result, std::move(made)) : status;
}

rollcall_status rollcall_duplicate(const rollcall_communicator* communicator, rollcall_communicator** result) {
    Communicator made;
    const rollcall_status status = guarded([&] {
        checked(result, "the place for the communicator") = nullptr;
        made = checked(communicator).duplicate();
    });
    return status == ROLLCALL_OK ? give(result, std::move(made)) : status;
}

void rollcall_communicator_free(rollcall_communicator* communicator) {
    guarded([&] { delete communicator; });
}

rollcall_status rollcall_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                              int64_t timeout) {
    return guarded([&] { checked(communicator).send(data, bytes, to, tag, deadline(timeout)); });
}

rollcall_status rollcall_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                 int64_t timeout, uint64_t* received) {
    return guarded([&] {
        const Received got = checked(communicator).receive(data, bytes, from, tag, deadline(timeout));
        if (received) *received = got.bytes;
    });
}

rollcall_status rollcall_start_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                                    rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_send(data, bytes, to, tag); });
}

rollcall_status rollcall_start_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                       rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_receive(data, bytes, from, tag); });
}

rollcall_status rollcall_barrier(const rollcall_communicator* communicator, int64_t timeout) {
    return guarded([&] { checked(communicator).barrier(deadline(timeout)); });
}

rollcall_status rollcall_start_barrier(const rollcall_communicator* communicator, rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_barrier(); });
}

rollcall_status rollcall_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                   const rollcall_collective_options* options) {
    return guarded([&] { checked(communicator).broadcast(data, bytes, root, options_of(options)); });
}

rollcall_status rollcall_start_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                         const rollcall_collective_options* options, rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_broadcast(data, bytes, root, options_of(options)); });
}

rollcall_status rollcall_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                 const rollcall_collective_options* options) {
    return guarded([&] { checked(communicator).scatter(data, block, bytes, root, options_of(options)); });
}

rollcall_status rollcall_start_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                       const rollcall_collective_options* options, rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_scatter(data, block, bytes, root, options_of(options)); });
}

rollcall_status rollcall_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                const rollcall_collective_options* options) {
    return guarded([&] { checked(communicator).gather(block, data, bytes, root, options_of(options)); });
}

rollcall_status rollcall_start_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_request** request) {
    return start(request, [&] { return checked(communicator).start_gather(block, data, bytes, root, options_of(options)); });
}

rollcall_status rollcall_plan_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return make_plan(plan,
                     [&] { return checked(communicator).plan_scatter(data, block, bytes, root, plan_options_of(options, predictor)); });
}

rollcall_status rollcall_plan_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                     const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return make_plan(plan,
                     [&] { return checked(communicator).plan_gather(block, data, bytes, root, plan_options_of(options, predictor)); });
}

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
void rollcall_plan_free(rollcall_plan* plan) {
    guarded([&] { delete plan; });
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

rollcall_status rollcall_test(rollcall_request** request, int* done, uint64_t* received) {
    return guarded([&] {
        auto& place = checked(request, "the place of the request");
        int& is_done = checked(done, "done");
        is_done = 1;
        std::optional<Received> got = Received{};
        if (place) {
            try {
                got = place->handle.test();
            } catch (...) {
                delete std::exchange(place, nullptr);
                throw;
            }
            if (got)
                delete std::exchange(place, nullptr);
            else
                is_done = 0;
        }
        if (got && received) *received = got->bytes;
    });
}

rollcall_status rollcall_wait_any(rollcall_request** requests, size_t count, int64_t timeout, size_t* index) {
    return guarded([&] {
        const auto limit = deadline(timeout).value_or(rollcall::kForever);
        auto& place = checked(index, "the place for the index");
        Gathered gathered(requests, count);
        place = Request::wait_any(gathered.all, limit);
    });
}

rollcall_status rollcall_wait_all(rollcall_request** requests, size_t count, int64_t timeout) {
    return guarded([&] {
        const auto limit = deadline(timeout).value_or(rollcall::kForever);
        Gathered gathered(requests, count);
        Request::wait_all(gathered.all, limit);
    });
}

void rollcall_request_free(rollcall_request* request) {
    guarded([&] { delete request; });
}

}  // extern "C"
