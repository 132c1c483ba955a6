/// \file
/// Completion queues: many requests, and one place to look for those that are done.
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

/// How a request ended that was in a completion queue.
struct Completion {
    std::uint64_t context = 0;   ///< What was given with it.
    Received received;           ///< As Request::wait() returns it.
    std::optional<Error> error;  ///< Why it failed, as Request::wait() throws it; nothing: it went well.

    /// The context, where that was a pointer.
    template <class T>
    T* pointer() const noexcept {
        return reinterpret_cast<T*>(static_cast<std::uintptr_t>(context));
    }
};

/// Requests that are under way, of one job. Each comes out once, when it is done or has failed, in the order of their ends, with a word
/// of the program's own. How long that takes does not depend on how many others are under way.
///
///     rollcall::CompletionQueue queue(world);
///     for (std::size_t i = 0; i < parts.size(); ++i) queue.add(world.start_receive(parts[i], owner(i)), i);
///     while (queue.size() > 0) work_on(parts[queue.next().context]);
///
/// Threads: any may call add() and size() at any time, also while another one waits; next(), next_for() and try_next() are called by one
/// thread at a time.
///
/// Requests that are still in a queue when it is destroyed are abandoned, as if each were destroyed; results that nobody took are lost.
class ROLLCALL_EXPORT CompletionQueue {
  public:
    /// Of the job of this communicator; requests of its other communicators may be put in, too.
    explicit CompletionQueue(const Communicator& communicator);
    ~CompletionQueue();
    CompletionQueue(CompletionQueue&&) noexcept;
    CompletionQueue& operator=(CompletionQueue&&) noexcept;

    /// Takes the request, which is empty then. Its own deadline counts on: when that is over the request is given up, and comes out with
    /// Error{timeout}. Throws Error{invalid_argument}, and takes nothing, when it is empty or belongs to another job.
    void add(Request&& request, std::uint64_t context = 0);
    template <class T>
    void add(Request&& request, T* context) {
        add(std::move(request), static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(context)));
    }
    /// How many are in it, done or not.
    std::size_t size() const noexcept;

    /// Waits for the next one that ends. Throws Error{state} when none is in it; Error{timeout} after ROLLCALL_TIMEOUT (none by default),
    /// and then nothing is abandoned. That a request failed is told by Completion::error, and not thrown.
    Completion next();
    /// The next one if it ends within this time, else nothing; also while none is in it.
    std::optional<Completion> next_for(Timeout timeout);
    /// One that has ended, or nothing. Moves things on.
    std::optional<Completion> try_next();

    struct Implementation;

  private:
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
