/// \file
/// Requests: operations that go on while the program does something else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <rollcall/export.h>
#include <rollcall/time.hpp>

namespace rollcall {

/// The size of a message that was received, or that start_next_size() has found.
struct Received {
    std::uint64_t bytes = 0;  ///< The size in bytes.
    /// The number of whole elements of type T. A message may end within an element, which is not counted.
    template <class T>
    std::uint64_t count() const noexcept {
        return bytes / sizeof(T);
    }
};

/// A handle to an operation under way, as the start_ functions return it. Its buffers must stay in place until it is done. It can be moved
/// but not copied. A request is empty after it was moved from, or after its result was taken; an empty request counts as done.
///
/// Abandoning: a request that is destroyed before it is done is abandoned. A receive is withdrawn, a send is taken back if that is still
/// possible, and a collective operation fails on all ranks that have not done their part. (With ROLLCALL_PROGRESS=host, a rank that calls
/// late may still succeed; its next call fails.) A withdrawn receive to which data was on its way loses the message, and the send succeeds.
/// All this also holds for requests that time out or are cancelled. The destructor returns when the buffers are free. That is within about
/// a second even if another rank does not answer, but while the network reads or writes the buffers (RDMA), it takes as long as that does.
///
/// Deadlines: a request may have a deadline of its own (CollectiveOptions::timeout, or the last argument of start_send(), start_receive()
/// and start_next_size()). If it has passed and the operation has not ended, wait(), wait_for() or test() abandons the request and throws
/// Error{timeout}. With kForever this deadline never passes, and the setting ROLLCALL_TIMEOUT does not count for the request.
///
/// The end of the job: if the job ends before the operation is done (~Job), the operation never ends. All calls that wait for the request
/// or test it then throw Error{state}, at once, also those that another thread has begun before.
///
/// Threads: one thread at a time may use a request. Different threads may use different requests.
class ROLLCALL_EXPORT Request {
  public:
    Request();
    ~Request();
    /// \{
    /// Moves the request, and leaves an empty one behind. A request that is assigned to is abandoned first.
    Request(Request&&) noexcept;
    Request& operator=(Request&&) noexcept;
    /// \}

    /// False if the request is empty.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }

    /// Waits until the operation is done, for at most `timeout` from now or until the request's own deadline, whichever comes first.
    /// Returns what a receive got or start_next_size() has found; 0 bytes for other operations. Throws Error{timeout} and abandons the
    /// request if the time runs out, else the error of the operation if it failed. The request is empty afterwards, whether this returned
    /// or threw. An empty request returns at once.
    Received wait(Timeout timeout);
    /// Waits as wait(Timeout) does, until the request's own deadline. If it has none, the setting ROLLCALL_TIMEOUT counts from now (by
    /// default there is no deadline).
    Received wait();
    /// Waits for at most `timeout`. Returns the result if the operation is done by then, and the request is empty. Else returns nothing,
    /// and the operation goes on. Throws the operation's error, or Error{timeout} when the request's own deadline has passed; the request
    /// is empty then.
    std::optional<Received> wait_for(Timeout timeout);
    /// Does not wait. Returns the result if the operation is done, and the request is empty; else nothing. A call that returns nothing
    /// also moves data, as Job::progress() does. Throws as wait_for() does.
    std::optional<Received> test();
    /// Gives the operation up, and returns when its buffers are free, as the destructor does. True: it was cancelled, and the request is
    /// empty, but the message of a send may still arrive. False: the request was empty, or the operation had already ended or failed for
    /// another reason; the result is kept for wait(). A collective operation that is cancelled fails on other ranks as when it is abandoned
    /// (see above), and all later collective operations of the communicator fail.
    bool cancel();

    /// Waits until one of the requests is done, and returns its index. The request keeps its result for wait() or test(), which then return
    /// at once. Empty requests do not count. Without `timeout`, the setting ROLLCALL_TIMEOUT counts, unless all requests have deadlines of
    /// their own. Throws Error{timeout} when the time is over, and Error{invalid_argument} if all requests are empty or if they belong to
    /// different jobs; nothing is abandoned then. A connection to another job counts as a job of its own (listener.hpp). A request whose
    /// own deadline passes is abandoned and counts as done. For many requests use a CompletionQueue (completion_queue.hpp).
    static std::size_t wait_any(std::span<Request> requests, std::optional<Timeout> timeout = {});
    /// Waits for all requests, also of different jobs, within one `timeout` for all of them, and within their own deadlines. Without
    /// `timeout`, the setting ROLLCALL_TIMEOUT counts for the requests that have no deadline of their own. When the time is over, the
    /// requests that are not done are abandoned and fail with Error{timeout}, which says how many there are. After all requests have ended,
    /// throws the failure of the first one in the list that failed. All requests are empty afterwards.
    static void wait_all(std::span<Request> requests, std::optional<Timeout> timeout = {});

    struct Implementation;

  private:
    friend class Communicator;
    friend class CompletionQueue;
    explicit Request(std::unique_ptr<Implementation> implementation) noexcept;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
