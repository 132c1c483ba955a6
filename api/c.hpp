/// \file
/// The parts of which the functions of the C interface consist: handles, and the translation of exceptions into statuses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include <rollcall/rollcall.h>

#include <rollcall/rollcall.hpp>

struct rollcall_communicator {
    rollcall::Communicator handle;
    bool is_of_job = false;  ///< A part of the job's handle: it is not freed alone.
};

struct rollcall_intercommunicator {
    rollcall::Intercommunicator handle;
};

struct rollcall_request {
    rollcall::Request handle;
    bool is_listed = false;  ///< While a list of requests is looked through: it was there already.
};

struct rollcall_queue {
    rollcall::CompletionQueue handle;
};

struct rollcall_plan {
    rollcall::Plan handle;
};

namespace rollcall::c {

/// The statuses of errors are those of ErrorCode plus one.
constexpr rollcall_status status_of(ErrorCode code) { return static_cast<rollcall_status>(static_cast<int>(code) + 1); }

/// Keeps the sentence for rollcall_last_error() in this thread. Returns `status`.
rollcall_status fail(rollcall_status status, const char* sentence, int rank = -1) noexcept;

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

inline const Communicator& checked(const rollcall_communicator* communicator) { return checked(communicator, "the communicator").handle; }
inline const Intercommunicator& checked(const rollcall_intercommunicator* between) {
    return checked(between, "the intercommunicator").handle;
}

// A structure of the caller begins with its size. It is shorter than this library's if the program was compiled with an older header, and
// longer with a newer one. A later version adds fields behind all that an older one has, also behind its padding.
[[noreturn]] void refuse_size(std::size_t given, std::size_t known, const char* what, const char* how);
[[noreturn]] void refuse_unknown(const char* what);
/// Throws if no version of the structure can have this size: a version has at least one field besides the size.
template <class Structure>
void check_size(std::size_t given, const char* what, const char* how) {
    if (given <= sizeof(std::size_t) || given % alignof(Structure) != 0) refuse_size(given, sizeof(Structure), what, how);
}
/// Returns a copy of such a structure. The fields that it does not have are those of `defaults`. Throws if a field is set that this library
/// does not know.
template <class Structure>
Structure taken(const Structure& given, const Structure& defaults, const char* what, const char* how) {
    const std::size_t size = given.size;
    check_size<Structure>(size, what, how);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
    for (std::size_t i = sizeof given; i < size; ++i)
        if (bytes[i] != 0) refuse_unknown(what);
    Structure copy = defaults;
    std::memcpy(&copy, bytes, std::min(size, sizeof copy));
    return copy;
}
/// Fills such a structure, as far as it has the fields and this library knows them.
template <class Structure>
void give(Structure* place, Structure value, const char* what) {
    value.size = checked(place, what).size;
    check_size<Structure>(value.size, what, "its size");
    std::memcpy(static_cast<void*>(place), &value, std::min(value.size, sizeof value));
}
/// Returns the defaults where `given` is null.
rollcall_collective_options options_taken(const rollcall_collective_options* given);
/// Throws Error{invalid_argument} if the operator or the element type is not in rollcall.h. All else that is wrong with the reduction is
/// reported by the call.
Reduction reduction_of(const rollcall_reduction* given);
rollcall_call_record record_of(const CallRecord& record);

/// Returns no value for ROLLCALL_DEFAULT_TIMEOUT.
std::optional<Timeout> deadline(std::int64_t timeout);
CollectiveOptions options_of(const rollcall_collective_options& given);
inline CollectiveOptions options_of(const rollcall_collective_options* given) { return options_of(options_taken(given)); }
PlanOptions plan_options_of(const rollcall_collective_options* given, rollcall_predictor predictor);

/// Gives what `make` makes to the caller, or null if that is nothing. `what` names the place in errors.
template <class Handle, class Make>
rollcall_status give_handle(Handle** result, const char* what, Make&& make) noexcept {
    return guarded([&] {
        Handle*& place = checked(result, what);
        place = nullptr;
        // The handle is made first. If that failed afterwards, an operation that was started could only be abandoned.
        auto handle = std::make_unique<Handle>();
        handle->handle = make();
        if constexpr (requires { static_cast<bool>(handle->handle); })
            if (!handle->handle) return;
        place = handle.release();
    });
}

template <class Make>
rollcall_status make_communicator(rollcall_communicator** result, Make&& make) noexcept {
    return give_handle(result, "the place for the communicator", make);
}

template <class Make>
rollcall_status make_intercommunicator(rollcall_intercommunicator** result, Make&& make) noexcept {
    return give_handle(result, "the place for the intercommunicator", make);
}

template <class Make>
rollcall_status make_plan(rollcall_plan** plan, Make&& make) noexcept {
    return give_handle(plan, "the place for the plan", make);
}

/// Gives the size of the message that `look` finds, if any, to the caller.
template <class Look>
rollcall_status look_for(int* found, std::uint64_t* bytes, Look&& look) noexcept {
    return guarded([&] {
        int& is_found = checked(found, "found");
        std::uint64_t& place = checked(bytes, "the place for the size");
        is_found = 0;
        const std::optional<std::uint64_t> size = look();
        if (!size) return;
        is_found = 1;
        place = *size;
    });
}

/// Starts something and gives its request to the caller.
template <class Start>
rollcall_status start(rollcall_request** request, Start&& start_it) noexcept {
    return give_handle(request, "the place for the request", start_it);
}

}  // namespace rollcall::c
