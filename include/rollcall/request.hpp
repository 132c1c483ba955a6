/// \file
/// Requests: operations that go on while their caller does something else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <rollcall/export.h>
#include <rollcall/time.hpp>

namespace rollcall {

/// What a receive got.
struct Received {
    std::uint64_t bytes = 0;
    /// Whole ones; a message may end within one.
    template <class T>
    std::uint64_t count() const noexcept {
        return bytes / sizeof(T);
    }
};

/// An operation under way, started by Communicator::start_*(). Its buffers must stay until it is done. Move-only. One
/// thread at a time may use a request; different requests may be used by different threads.
///
/// A request that is destroyed before it is done is abandoned: a receive is withdrawn, a send is taken back if it can be,
/// and a collective operation fails on all its ranks. The destructor returns when the buffers are free (within about a
/// second, also when a peer does not answer).
class ROLLCALL_EXPORT Request {
  public:
    Request();
    ~Request();
    Request(Request&&) noexcept;
    Request& operator=(Request&&) noexcept;

    /// Whether there is an operation at all.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }

    /// Waits until it is done. Throws Error: what failed; or Error{timeout} when the time is over, and then the request
    /// is abandoned. After it returned or threw, the request is empty. An empty request is done.
    ///
    /// A request may have a deadline of its own (CollectiveOptions::timeout, the last argument of start_send() and start_receive()).
    /// When that is over first, this, wait_for() and test() abandon it and throw Error{timeout}.
    Received wait(Timeout timeout);
    /// The same until its own deadline; where it has none, that of the job from now on (ROLLCALL_TIMEOUT, none by default).
    Received wait();
    /// What it got if it is done within this time (then it is empty), else nothing, and the request goes on. Throws as wait().
    std::optional<Received> wait_for(Timeout timeout);
    /// What it got if it is done (then it is empty), else nothing. Moves things on. Throws as wait().
    std::optional<Received> test();
    /// Gives it up, and returns when its buffers are free: true, and the request is empty. False: it was done before, or failed for
    /// another reason, which is kept for wait(). A collective operation fails by that on all ranks that have not done their part, and so do
    /// all later ones of the communicator. An empty request: false.
    bool cancel();

    /// Waits until one of them is done, and gives its index (of many: CompletionQueue, completion_queue.hpp). The request keeps its result
    /// for wait() or test(), which then return at once. Empty requests do not count; throws Error{invalid_argument} when all are,
    /// Error{timeout} when the time is over (nothing is abandoned, but for a request whose own deadline is over: that is done). Without a
    /// time: the setting ROLLCALL_TIMEOUT.
    static std::size_t wait_any(std::span<Request> requests, std::optional<Timeout> timeout = {});
    /// Waits for all of them, within one time (and their own deadlines). Throws the first failure, in their order, after all have ended.
    /// When the time is over those that are not done are abandoned; their failure is Error{timeout}, with their number. All are empty
    /// then. Without a time: the setting ROLLCALL_TIMEOUT.
    static void wait_all(std::span<Request> requests, std::optional<Timeout> timeout = {});

    struct Implementation;

  private:
    friend class Communicator;
    friend class CompletionQueue;
    explicit Request(std::unique_ptr<Implementation> implementation) noexcept;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
