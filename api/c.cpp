/// \file
/// The C interface: each function makes the corresponding C++ call, and turns exceptions into statuses.
#include "api/c.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "api/c_jobs.hpp"
#include "api/exit_code.hpp"
#include "foundation/reductions.hpp"

using rollcall::Communicator;
using rollcall::Error;
using rollcall::ErrorCode;
using rollcall::Received;

struct rollcall_job {
    rollcall_job() = default;
    explicit rollcall_job(const rollcall::Embedding& embedding) : job(embedding) {}
    rollcall::Job job;
    rollcall_communicator world{job.world(), true};
    std::string started_by = job.started_by();
    std::string transport = job.transport_description();
    std::mutex mutex;                             ///< Guards the next member.
    std::map<void*, rollcall::Memory> allocated;  ///< By address.
};

namespace rollcall::c {
namespace {

static_assert(status_of(ErrorCode::invalid_argument) == ROLLCALL_INVALID_ARGUMENT &&
              status_of(ErrorCode::invalid_setting) == ROLLCALL_INVALID_SETTING && status_of(ErrorCode::mismatch) == ROLLCALL_MISMATCH &&
              status_of(ErrorCode::truncated) == ROLLCALL_TRUNCATED && status_of(ErrorCode::peer_failed) == ROLLCALL_PEER_FAILED &&
              status_of(ErrorCode::timeout) == ROLLCALL_TIMEOUT && status_of(ErrorCode::bootstrap) == ROLLCALL_BOOTSTRAP &&
              status_of(ErrorCode::transport) == ROLLCALL_TRANSPORT && status_of(ErrorCode::state) == ROLLCALL_STATE &&
              ROLLCALL_STATE == 9 && ROLLCALL_INTERNAL == 100);
static_assert(ROLLCALL_UNIQUE_ID_BYTES == rollcall::UniqueId::kBytes);
static_assert(ROLLCALL_NO_COLOR == Communicator::kNoColor);

/// The last failure of a thread. The text has a fixed size, because a failure must be reported even if memory has run out.
struct LastError {
    char sentence[2048] = "";
    int rank = -1;
};
thread_local LastError last_error;

}  // namespace

rollcall_status fail(rollcall_status status, const char* sentence, int rank) noexcept {
    const std::size_t length = std::strlen(sentence);
    std::size_t kept = std::min(length, sizeof last_error.sentence - 1);
    // A character of several bytes is kept whole, or not at all.
    if (kept < length)
        while (kept > 0 && (static_cast<unsigned char>(sentence[kept]) & 0xc0) == 0x80) --kept;
    std::memmove(last_error.sentence, sentence, kept);  // it may be the last error itself
    last_error.sentence[kept] = '\0';
    last_error.rank = rank;
    return status;
}

std::optional<Timeout> deadline(std::int64_t timeout) {
    if (timeout == ROLLCALL_DEFAULT_TIMEOUT) return std::nullopt;
    if (timeout < 0)
        throw Error(ErrorCode::invalid_argument, "a timeout is negative: use ROLLCALL_DEFAULT_TIMEOUT, ROLLCALL_FOREVER, or nanoseconds");
    return Timeout(timeout);
}

rollcall_collective_options options_taken(const rollcall_collective_options* given) {
    const rollcall_collective_options defaults = ROLLCALL_COLLECTIVE_DEFAULTS;
    return given ? taken(*given, defaults, "the options", "ROLLCALL_COLLECTIVE_DEFAULTS") : defaults;
}

rollcall::CollectiveOptions options_of(const rollcall_collective_options& given) {
    rollcall::CollectiveOptions options;
    if (given.segment_bytes < -1)
        throw Error(ErrorCode::invalid_argument, "segment_bytes is negative: use -1 for the setting, 0 for whole");
    if (given.algorithm) options.algorithm = given.algorithm;
    if (given.segment_bytes >= 0) options.segment_bytes = static_cast<std::uint64_t>(given.segment_bytes);
    options.timeout = deadline(given.timeout);
    options.until_delivered = given.until_delivered != 0;
    return options;
}

void refuse_size(std::size_t given, std::size_t known, const char* what, const char* how) {
    throw Error(ErrorCode::invalid_argument, std::string(what) + ": its size is given as " + std::to_string(given) + " bytes, but is " +
                                                 std::to_string(known) + " in this version of the library: initialise it with " + how);
}

void refuse_unknown(const char* what) {
    throw Error(
        ErrorCode::invalid_argument,
        std::string(what) +
            ": a field is set that this version of the library does not know, because the program was built against a newer version");
}

Reduction reduction_of(const rollcall_reduction* structure) {
    static_assert(static_cast<int>(Operator::function) == ROLLCALL_FUNCTION &&
                  static_cast<int>(Operator::maximum_location) == ROLLCALL_MAXIMUM_LOCATION &&
                  static_cast<int>(Operator::bitwise_and) == ROLLCALL_BITWISE_AND &&
                  static_cast<int>(ElementType::uint8) == ROLLCALL_UINT8 && static_cast<int>(ElementType::float16) == ROLLCALL_FLOAT16 &&
                  static_cast<int>(ElementType::complex128) == ROLLCALL_COMPLEX128);
    const rollcall_reduction copy = taken(checked(structure, "the reduction"), ROLLCALL_REDUCTION(ROLLCALL_SUM, ROLLCALL_UINT8),
                                          "the reduction", "ROLLCALL_REDUCTION(operation, type)");
    const rollcall_reduction* const given = &copy;
    if (static_cast<unsigned>(given->operation) > ROLLCALL_FUNCTION || static_cast<unsigned>(given->type) > ROLLCALL_COMPLEX128)
        throw Error(ErrorCode::invalid_argument,
                    "the reduction's operation is not one of rollcall_operator, or its type is not one of rollcall_element_type");
    Reduction reduction;
    reduction.operation = static_cast<Operator>(given->operation);
    reduction.type = static_cast<ElementType>(given->type);
    reduction.by_rank = given->by_rank != 0;
    if (reduction.operation != Operator::function) {
        reduction.element_bytes = foundation::element_bytes(reduction.operation, reduction.type);
        return reduction;
    }
    reduction.is_commutative = given->is_commutative != 0;
    reduction.element_bytes = given->element_bytes;
    if (!given->function) return reduction;
    struct State {
        rollcall_combine function;
        void* context;
    };
    const State state{given->function, given->context};
    static_assert(sizeof state <= sizeof reduction.state);
    std::memcpy(reduction.state, &state, sizeof state);
    reduction.combine = [](const void* mine, void* into, const void* left, const void* right, std::uint64_t count) {
        const State& its = *static_cast<const State*>(mine);
        its.function(its.context, into, left, right, count);
    };
    return reduction;
}

rollcall_call_record record_of(const rollcall::CallRecord& record) {
    return {sizeof(rollcall_call_record), record.arrival, record.first_data, record.exit, record.predicted};
}

rollcall::PlanOptions plan_options_of(const rollcall_collective_options* given, rollcall_predictor predictor) {
    static_assert(static_cast<int>(rollcall::Predictor::edge_linear) == ROLLCALL_EDGE_LINEAR &&
                  static_cast<int>(rollcall::Predictor::last) == ROLLCALL_LAST &&
                  static_cast<int>(rollcall::Predictor::moving_average) == ROLLCALL_MOVING_AVERAGE &&
                  static_cast<int>(rollcall::Predictor::exponential) == ROLLCALL_EXPONENTIAL);
    if (predictor < ROLLCALL_EDGE_LINEAR || predictor > ROLLCALL_EXPONENTIAL)
        throw Error(ErrorCode::invalid_argument, "the predictor is not one of rollcall_predictor");
    const rollcall::CollectiveOptions options = options_of(given);
    return {options.algorithm, options.segment_bytes, options.timeout, static_cast<rollcall::Predictor>(predictor)};
}

}  // namespace rollcall::c

namespace {

using namespace rollcall::c;

/// Ends what is left of the job by `end`, and frees it unless that is ROLLCALL_STATE.
template <class End>
rollcall_status end_job(rollcall_job* job, End end) {
    LiveJobs::Node taken;
    const rollcall_status status = guarded([&] {
        checked(job, "the job");
        taken = live_jobs().take(job);
        end(job->job);
    });
    if (taken.empty() || status == ROLLCALL_STATE) {
        if (!taken.empty()) live_jobs().put_back(std::move(taken));
        return status;
    }
    const rollcall_status freed = guarded([&] { delete job; });
    return status != ROLLCALL_OK ? status : freed;
}

}  // namespace

extern "C" {

int rollcall_version(void) { return ROLLCALL_VERSION; }

const char* rollcall_last_error(void) { return last_error.sentence; }
int rollcall_failed_rank(void) { return last_error.rank; }

const char* rollcall_status_name(rollcall_status status) {
    if (status == ROLLCALL_OK) return "ok";
    if (status > ROLLCALL_OK && status <= ROLLCALL_STATE) return rollcall::name(static_cast<ErrorCode>(static_cast<int>(status) - 1));
    return "internal";
}

rollcall_status rollcall_init(rollcall_job** job) {
    return guarded([&] {
        auto& place = checked(job, "the place for the job");
        place = nullptr;
        place = live_jobs().make();
    });
}

rollcall_status rollcall_make_unique_id(rollcall_unique_id* id) {
    return guarded([&] {
        auto& place = checked(id, "the place for the unique id");
        const rollcall::UniqueId made = rollcall::make_unique_id();
        std::memcpy(place.bytes, made.bytes.data(), sizeof place.bytes);
    });
}

rollcall_status rollcall_forget_unique_id(const rollcall_unique_id* id) {
    return guarded([&] {
        rollcall::UniqueId known;
        std::memcpy(known.bytes.data(), checked(id, "the unique id").bytes, ROLLCALL_UNIQUE_ID_BYTES);
        rollcall::forget_unique_id(known);
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
        place = live_jobs().make(embedding);
    });
}

rollcall_status rollcall_init_by_allgather(rollcall_job** job, int rank, int size, rollcall_allgather_function allgather, void* context) {
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
        place = live_jobs().make(embedding);
    });
}

rollcall_status rollcall_finalize(rollcall_job* job) {
    return end_job(job, [](rollcall::Job& handle) { handle.finalize(); });
}

rollcall_status rollcall_leave(rollcall_job* job) {
    return end_job(job, [](rollcall::Job& handle) { handle.leave(); });
}

void rollcall_abort(rollcall_job* job, int code, const char* why) {
    if (job) guarded([&] { job->job.abort(code, why ? why : ""); });
    if (why) std::fprintf(stderr, "rollcall: this process ends with code %d: %s\n", rollcall::failure_code(code), why);
    std::_Exit(rollcall::failure_code(code));
}

const char* rollcall_started_by(const rollcall_job* job) { return job ? job->started_by.c_str() : nullptr; }
const char* rollcall_transport_description(const rollcall_job* job) { return job ? job->transport.c_str() : nullptr; }
const rollcall_communicator* rollcall_world(const rollcall_job* job) { return job ? &job->world : nullptr; }

rollcall_status rollcall_allocate(rollcall_job* job, uint64_t bytes, void** memory) {
    return guarded([&] {
        auto& place = checked(memory, "the place for the memory");
        place = nullptr;
        rollcall::Memory taken = checked(job, "the job").job.allocate(bytes);
        void* const address = taken.data();
        if (!address) return;
        const std::lock_guard lock(job->mutex);
        job->allocated.emplace(address, std::move(taken));
        place = address;
    });
}

rollcall_status rollcall_free(rollcall_job* job, void* memory) {
    return guarded([&] {
        auto& owner = checked(job, "the job");
        if (!memory) return;
        decltype(owner.allocated)::node_type freed;
        const std::lock_guard lock(owner.mutex);
        freed = owner.allocated.extract(memory);
        if (freed.empty())
            throw Error(ErrorCode::invalid_argument,
                        "rollcall_free(): rollcall_allocate() of this job did not give this memory, or it is free already");
    });
}

rollcall_status rollcall_synchronize_clocks(rollcall_job* job, int64_t window, int64_t* error) {
    return guarded([&] {
        const std::chrono::nanoseconds time = window ? std::chrono::nanoseconds(window) : rollcall::Job::kClockWindow;
        const auto off = checked(job, "the job").job.synchronize_clocks(time);
        if (error) *error = off;
    });
}
rollcall_status rollcall_time_at(const rollcall_job* job, int64_t local, int64_t* time) {
    return guarded([&] { checked(time, "the place for the time") = checked(job, "the job").job.time_at(local); });
}
rollcall_status rollcall_local_time_at(const rollcall_job* job, int64_t time, int64_t* local) {
    return guarded([&] { checked(local, "the place for the time") = checked(job, "the job").job.local_time_at(time); });
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
int rollcall_progress_descriptor(const rollcall_job* job) {
    int descriptor = -1;
    guarded([&] { descriptor = checked(job, "the job").job.progress_descriptor(); });
    return descriptor;
}
rollcall_status rollcall_prepare_to_sleep(rollcall_job* job, int* may_sleep) {
    return guarded([&] { checked(may_sleep, "may_sleep") = checked(job, "the job").job.prepare_to_sleep(); });
}

rollcall_status rollcall_pause_background(rollcall_job* job) {
    return guarded([&] { checked(job, "the job").job.pause_background(); });
}
rollcall_status rollcall_resume_background(rollcall_job* job) {
    return guarded([&] { checked(job, "the job").job.resume_background(); });
}
rollcall_status rollcall_statistics(const rollcall_job* job, rollcall_progress_statistics* statistics) {
    return guarded([&] {
        const rollcall::ProgressStatistics now = checked(job, "the job").job.progress_statistics();
        give(statistics,
             rollcall_progress_statistics{sizeof(rollcall_progress_statistics), now.background_cpu_time, now.background_looks,
                                          now.background_takeovers, now.background_parks, now.caller_sleeps, now.landing_peak_bytes},
             "the place for the statistics");
    });
}

int rollcall_rank(const rollcall_communicator* communicator) { return communicator ? communicator->handle.rank() : -1; }
int rollcall_size(const rollcall_communicator* communicator) { return communicator ? communicator->handle.size() : -1; }

int rollcall_local_rank(const rollcall_communicator* communicator) { return communicator ? communicator->handle.local_rank() : -1; }
int rollcall_local_size(const rollcall_communicator* communicator) { return communicator ? communicator->handle.local_size() : -1; }
const char* rollcall_name(const rollcall_communicator* communicator) {
    return communicator ? communicator->handle.name().c_str() : nullptr;
}
rollcall_status rollcall_world_rank(const rollcall_communicator* communicator, int rank, int* world_rank) {
    return guarded([&] { checked(world_rank, "the place for the rank") = checked(communicator).world_rank(rank); });
}

rollcall_status rollcall_split(const rollcall_communicator* communicator, int color, int key, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(communicator).split(color, key); });
}
rollcall_status rollcall_split_by_host(const rollcall_communicator* communicator, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(communicator).split_by_host(); });
}
rollcall_status rollcall_create(const rollcall_communicator* communicator, const int* ranks, size_t count, rollcall_communicator** result) {
    return make_communicator(result, [&] {
        if (count) checked(ranks, "the list of ranks");
        return checked(communicator).create(std::span(ranks, count));
    });
}
rollcall_status rollcall_duplicate(const rollcall_communicator* communicator, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(communicator).duplicate(); });
}
rollcall_status rollcall_shrink(const rollcall_communicator* communicator, int64_t timeout, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(communicator).shrink(deadline(timeout)); });
}

rollcall_status rollcall_communicator_copy(const rollcall_communicator* communicator, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(communicator); });
}

void rollcall_communicator_free(rollcall_communicator* communicator) {
    guarded([&] {
        if (communicator && communicator->is_of_job)
            throw Error(ErrorCode::invalid_argument, "the communicator of the world belongs to the job: rollcall_finalize() frees it");
        delete communicator;
    });
}

}  // extern "C"
