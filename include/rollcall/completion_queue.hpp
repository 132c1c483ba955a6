/// \file
/// Completion queues: they hold many requests and return each one when it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <rollcall/export.h>
#include <rollcall/communicator.hpp>
#include <rollcall/error.hpp>
#include <rollcall/request.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

/// How a request from a completion queue ended.
struct Completion {
    std::uint64_t context = 0;   ///< The number that was given to CompletionQueue::add() with the request.
    Received received;           ///< The result, as Request::wait() returns it.
    std::optional<Error> error;  ///< The failure, as Request::wait() throws it; nothing if the operation succeeded.

    /// The context as a pointer, if add() was given a pointer.
    template <class T>
    T* pointer() const noexcept {
        return reinterpret_cast<T*>(static_cast<std::uintptr_t>(context));
    }
};

/// A queue of requests of one job that are under way. The queue returns each request once, when it is done or has failed, in the order in
/// which they end, together with a number or pointer that the program gave with it (the context). The time to take one does not depend on
/// how many others are under way.
///
///     rollcall::CompletionQueue queue(world);
///     for (std::size_t i = 0; i < parts.size(); ++i) queue.add(world.start_receive(parts[i], owner(i)), i);
///     while (queue.size() > 0) {
///         const rollcall::Completion completion = queue.next();
///         if (completion.error) throw *completion.error;
///         work_on(parts[completion.context]);
///     }
///
/// Threads: any thread may call add() and size() at any time, even while another thread waits. next(), next_for() and try_next() may be
/// called by one thread at a time.
///
/// Destruction: requests that are still in the queue are abandoned, as if each Request were destroyed. Results that were not taken are
/// lost.
class ROLLCALL_EXPORT CompletionQueue {
  public:
    /// Makes an empty queue for the job of this communicator. It takes requests of all communicators of that job. Not collective.
    explicit CompletionQueue(const Communicator& communicator);
    ~CompletionQueue();
    /// \{
    /// Moves the queue. No thread may be in a call of either queue. A queue that was moved from has no requests, and its calls throw
    /// Error{state}.
    CompletionQueue(CompletionQueue&&) noexcept;
    CompletionQueue& operator=(CompletionQueue&&) noexcept;
    /// \}

    /// Moves the request into the queue, and leaves `request` empty. A deadline of the request still counts: when it passes, the request is
    /// abandoned and comes out with Error{timeout}. Throws Error{invalid_argument} and takes nothing if the request is empty or belongs to
    /// another job.
    void add(Request&& request, std::uint64_t context = 0);
    /// The same with a pointer as the context: Completion::pointer() returns it.
    template <class T>
    void add(Request&& request, T* context) {
        add(std::move(request), static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(context)));
    }
    /// The number of requests in the queue, done or not.
    std::size_t size() const noexcept;

    /// Waits for the next request that ends, and takes it. Throws Error{state} if the queue is empty, and Error{timeout} after the setting
    /// ROLLCALL_TIMEOUT (by default there is no deadline); nothing is abandoned then. The setting does not count while all requests in the
    /// queue have deadlines of their own, such as kForever. The failure of a request is not thrown: it is in Completion::error.
    Completion next();
    /// Waits for the next request that ends, for at most `timeout`. Returns nothing if none has ended by then. It also waits while the
    /// queue is empty, since another thread may add a request, until the job ends: then it returns at once.
    std::optional<Completion> next_for(Timeout timeout);
    /// Takes a request that has ended, or returns nothing, without waiting. In that case it also moves data, as Job::progress() does.
    std::optional<Completion> try_next();

    struct Implementation;

  private:
    Implementation& checked(const char* call) const;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
