/// \file
/// Requests: operations that go on while their caller does something else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

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
class Request {
  public:
    Request();
    ~Request();
    Request(Request&&) noexcept;
    Request& operator=(Request&&) noexcept;

    /// Whether there is an operation at all.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }

    /// Waits until it is done. Throws Error: what failed; or Error{timeout} when the time is over, and then the request
    /// is abandoned. After it returned or threw, the request is empty. An empty request is done.
    Received wait(Timeout timeout);
    /// The same with the deadline of the job (ROLLCALL_TIMEOUT, none by default).
    Received wait();
    /// What it got if it is done (then it is empty), else nothing. Moves things on. Throws as wait().
    std::optional<Received> test();

    /// Waits until one of them is done, and gives its index. The request keeps its result for wait() or test(), which
    /// then return at once. Empty requests do not count; throws Error{invalid_argument} when all are, Error{timeout} when
    /// the time is over (nothing is abandoned).
    static std::size_t wait_any(std::span<Request> requests, Timeout timeout = kForever);
    /// Waits for all of them. Throws the first failure after all have ended; Error{timeout} when the time is over, and
    /// then those that are not done are abandoned.
    static void wait_all(std::span<Request> requests, Timeout timeout = kForever);

    struct Implementation;

  private:
    friend class Communicator;
    explicit Request(std::unique_ptr<Implementation> implementation) noexcept;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
