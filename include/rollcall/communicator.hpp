/// \file
/// Communicators: groups of ranks that send each other messages and call collective operations together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <rollcall/export.h>
#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/distributing_operations.hpp>
#include <rollcall/exchanges.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/reducing_operations.hpp>
#include <rollcall/request.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

class Intercommunicator;

/// A number that tells messages between the same two ranks apart. The program may use all 64 bits.
using Tag = std::uint64_t;

/// A handle to a group of ranks. Copies refer to the same group. A default-constructed handle is null.
///
/// The rules below hold for every function of this class, and for the operations it inherits from DistributingOperations
/// (distributing_operations.hpp), Exchanges (exchanges.hpp) and ReducingOperations (reducing_operations.hpp). Ranks are numbered from 0 to
/// size() - 1.
///
/// Data: an argument called `data` or `block` is one of these:
///   - one object: a double, a trivially copyable struct, a std::pair, ...;
///   - a range of elements that lie one after another: a std::vector, std::array, std::span, std::string, C array, ...;
///   - an address and a size in bytes (buffer.hpp).
/// A start_ or plan_ function refuses a temporary unless it is a view, because the data must stay in place: for start_ until the operation
/// is done, for plan_ as long as the plan exists.
///
/// Forms: each collective operation has three. x() returns when this rank's part is done; its buffers may then be used again. start_x()
/// returns at once with a Request. plan_x() prepares an operation that the program repeats and returns a Plan; plan_x() itself is
/// collective.
///
/// Threads: any number of threads may make point-to-point calls at once. Collective calls (every function marked "Collective" and all
/// collective operations) on one communicator must be made by one thread at a time, in the same order on all its ranks. Collective calls
/// on different communicators may go on at the same time.
///
/// Deadlines: `timeout` is the time from the call after which it fails with Error{timeout}. Without one, the setting ROLLCALL_TIMEOUT
/// counts (by default there is no deadline).
///
/// Errors: an Error (error.hpp), or std::bad_alloc if memory runs out.
///   - Error{invalid_argument}: a wrong argument, such as a rank out of range or a size of 2^63 bytes or more. Nothing was sent.
///   - Error{state}: the communicator is null; in calls that communicate, also if the job has ended or the process is a forked child.
///   - Error{peer_failed}: a rank died or became unreachable; the error names it.
///   - Error{mismatch}: ranks called different operations, or one with different roots or sizes; the error names both calls.
///   - Error{truncated}: a message was longer than the buffer of its receive.
///   - Error{timeout}: the deadline passed; the error names what did not end in time.
/// After a collective operation has failed, all later collective operations of the communicator fail at once with the same reason.
/// Point-to-point messages between living ranks still work. A failed iteration of a plan breaks this plan only.
///
/// Lifetimes: requests, plans and completion queues may outlive the handles that made them, and all may outlive the Job. Destroying them
/// is not collective, but the last one of a connection of two jobs waits for both jobs (Intercommunicator::disconnect()).
class ROLLCALL_EXPORT Communicator : public ReducingOperations, public Exchanges, public DistributingOperations {
  public:
    /// \{
    /// A null handle, or one more handle to the same group.
    Communicator();
    ~Communicator();
    Communicator(const Communicator&);
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(const Communicator&);
    Communicator& operator=(Communicator&&) noexcept;
    /// \}

    /// False if this is a null communicator, such as split() gives to a rank without a color. Any other call on it throws Error{state}.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }
    /// The rank of this process in this communicator, from 0 to size() - 1.
    int rank() const;
    /// The number of ranks in this communicator.
    int size() const;
    /// The name of this communicator in error messages and logs.
    const std::string& name() const;
    /// The rank that `rank` of this communicator has in the world communicator.
    int world_rank(int rank) const;

    int local_size() const;  ///< The number of ranks of this communicator on the host of this rank. Takes O(size) time.
    int local_rank() const;  ///< The number of those ranks that come before this rank. Takes O(size) time.

    // --- point to point ---------------------------------------------------------------------------------------------
    // Messages from one rank to another with the same tag are received in the order in which they were sent. Every receive names its
    // source. Data that arrives before its receive waits at the receiver, up to the limit ROLLCALL_LANDING_BYTES.
    // A C array takes no tag, because send(array, 8, 1) could mean 8 bytes to rank 1 or the whole array to rank 8 with tag 1. To send an
    // array with a tag, pass std::span(array). For an array of characters or bytes, send(array, 8, 1) means 8 bytes to rank 1.

    /// \{
    /// Sends `data` to rank `to`. Returns when the buffer may be used again. Since early data waits at the receiver, that is usually
    /// before the receiver asks for the message. To wait until the data has left this rank, use start_send() and wait for the request.
    ///
    /// A message longer than ROLLCALL_EAGER_BYTES (with `auto`: 8 KiB) may have to wait, because the receiver does not begin to take it.
    /// After 50 us + 0.25 ns for each byte, the call copies the message and returns, and the message is sent from the copy. It makes no
    /// copy, and waits, if one of these holds: ROLLCALL_DECOUPLE is `no`; the network itself reads the buffer (RDMA); with the copy, more
    /// than half of ROLLCALL_LANDING_BYTES would be in use; an early message waits on this rank for room. If the receiver dies before it
    /// has taken such a copy, the log says so. The death is also reported like any other: by collective calls on communicators that contain
    /// that rank, by messages to and from it, and by Job::finalize().
    void send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::Message D>
    void send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto elements = detail::elements_of(data);
        send(detail::memory(elements), elements.size_bytes(), to, tag, timeout);
    }
    template <Transferable T, std::size_t N>
    void send(const T (&array)[N], int to) const {
        send(std::span(array), to);
    }
    /// \}

    /// \{
    /// Receives the next message with this tag from rank `from`, and returns its size. The message may be shorter than the buffer and may
    /// end within an element; the rest of the buffer stays as it was. A longer message throws Error{truncated} and is lost. If `data` is a
    /// single object, a shorter message throws Error{mismatch}: the message is gone, and its bytes are in the object.
    ///
    /// A receive that times out leaves a message that comes later to the next receive. But if the data was on its way already, the message
    /// is lost, and its sender is not told: the send succeeds.
    Received receive(BytePointer data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::WritableMessage D>
    Received receive(D&& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto elements = detail::elements_of(data);
        if constexpr (TransferableRange<std::remove_reference_t<D>>)
            return receive(detail::memory(elements), elements.size_bytes(), from, tag, timeout);
        else
            return receive_whole(detail::memory(elements), elements.size_bytes(), from, tag, timeout);
    }
    template <Transferable T, std::size_t N>
    Received receive(T (&array)[N], int from) const {
        return receive(std::span(array), from);
    }
    /// \}
    /// Receives one object, whose type has a default constructor. A message of another size throws Error{mismatch} or Error{truncated}.
    template <detail::TransferableObject T>
    T receive(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        T value;
        receive_whole(std::addressof(value), sizeof(T), from, tag, timeout);
        return value;
    }
    /// Receives a message of any size into a std::vector, a std::string or another container with resize(), which is resized to fit. Any
    /// number of threads may do so with one source and tag. A message that ends within an element throws Error{mismatch} and stays. The
    /// deadline covers the wait and the transfer; a message that is being transferred when it passes is lost.
    template <detail::Resizable D>
    Received receive_resized(D& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto resize = [](void* what, std::uint64_t count) -> void* {
            D& resized = *static_cast<D*>(what);
            resized.resize(static_cast<std::size_t>(count));
            return std::ranges::data(resized);
        };
        return receive_sized(&data, resize, sizeof(detail::Element<D>), from, tag, timeout);
    }
    /// Waits for the next message with this tag from rank `from` that no receive has claimed, and returns its size in bytes. A later
    /// receive gets it, unless another thread receives it first, or its sender takes it back by Request::cancel() or a deadline.
    std::uint64_t next_size(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    /// Starts to wait for such a message, and returns a request for it. The request is done when the message is here or its sender has
    /// announced it: at once if that is so already. Received::bytes of the result is its size. The message stays, as with next_size().
    /// Several requests may wait for the same message. The deadline counts as for start_send().
    ///
    /// With one such request for each source in a CompletionQueue (completion_queue.hpp), a program takes messages of any size from
    /// whichever rank: receive_resized() then receives the message, and a new request waits for the next one of that rank. Start it after
    /// the receive, because it would see the same message again before.
    Request start_next_size(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    /// Looks for such a message without waiting; returns nothing if there is none. It also moves data, as Job::progress() does. Where there
    /// is a background thread (a connection to another job always has one), the arrival of a message does not wake an event loop: only
    /// requests do so when they end, such as that of start_next_size().
    std::optional<std::uint64_t> try_next_size(int from, Tag tag = 0) const;

    /// \{
    /// Starts a send and returns a request for it. The buffer must stay unchanged until the request is done, so a list such as `{1, 2, 3}`
    /// is refused. The deadline counts from this call, and takes effect when the program waits for the request or tests it.
    Request start_send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::LastingMessage D>
    Request start_send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto elements = detail::elements_of(data);
        return start_send(detail::memory(elements), elements.size_bytes(), to, tag, timeout);
    }
    template <detail::TransferableOrConst T, std::size_t N>
    Request start_send(T (&array)[N], int to) const {
        return start_send(std::span(array), to);
    }
    /// \}
    /// \{
    /// Starts a receive and returns a request for it. The deadline counts as for start_send(). A message whose data is on its way then is
    /// lost, as in receive(). Received::bytes of the result says how much came: also for one object, a shorter message is no error here.
    Request start_receive(BytePointer data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::WritableMessage D>
    Request start_receive(D&& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto elements = detail::elements_of(data);
        return start_receive(detail::memory(elements), elements.size_bytes(), from, tag, timeout);
    }
    template <Transferable T, std::size_t N>
    Request start_receive(T (&array)[N], int from) const {
        return start_receive(std::span(array), from);
    }
    /// \}

    // --- collective: most operations are in distributing_operations.hpp, exchanges.hpp and reducing_operations.hpp ----

    /// \{
    /// Waits for all ranks: it returns on a rank only after all ranks have called it.
    void barrier(const CollectiveOptions& options = {}) const;
    void barrier(Timeout timeout) const;
    Request start_barrier(const CollectiveOptions& options = {}) const;
    Plan plan_barrier(const PlanOptions& options = {}) const;
    /// \}

    /// \{
    /// Sends `bytes` bytes from the root to all ranks. The buffer is read at the root and written on all other ranks. `bytes` may be 0. All
    /// ranks give the same size and root. The call returns on a rank when its own part is done, not when all ranks have the data.
    void broadcast(BytePointer data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_broadcast(BytePointer data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Plan plan_broadcast(BytePointer data, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    template <Writable D>
    void broadcast(D&& data, int root, const CollectiveOptions& options = {}) const {
        const auto elements = detail::elements_of(data);
        broadcast(detail::memory(elements), elements.size_bytes(), root, options);
    }
    template <Writable D>
    Request start_broadcast(D&& data, int root, const CollectiveOptions& options = {}) const {
        const auto elements = detail::elements_of(data);
        return start_broadcast(detail::memory(elements), elements.size_bytes(), root, options);
    }
    template <Writable D>
    Plan plan_broadcast(D&& data, int root, const PlanOptions& options = {}) const {
        const auto elements = detail::elements_of(data);
        return plan_broadcast(detail::memory(elements), elements.size_bytes(), root, options);
    }
    /// \}

    /// Says in a sentence which algorithm a call of this operation ("broadcast", "scatter", ...) would run, and why. `bytes` is the size of
    /// the message or of one block, or kOwnSizes for blocks of different sizes (of an allgather: their average size). Not collective.
    /// Throws Error{invalid_argument} if there is no such operation, or if it cannot have this size. `options.timeout` is not looked at.
    std::string explain(std::string_view operation, std::uint64_t bytes = 0, const CollectiveOptions& options = {}) const;

    /// Makes one communicator for each color, of the ranks that give this color. They are ordered by key, and by rank where keys are
    /// equal. Collective. `color` is 0 or more, else Error{invalid_argument}; a rank that gives kNoColor gets a null communicator.
    Communicator split(int color, int key) const;
    static constexpr int kNoColor = -1;  ///< The color of ranks that get no communicator from split().
    /// Makes one communicator for each host, of the ranks on that host, in their present order. Collective.
    Communicator split_by_host() const;
    /// Makes a communicator of the listed ranks, in the order of the list. Collective: all ranks of this communicator call it with the same
    /// list, else Error{mismatch} on all of them. A rank that is not in the list gets a null communicator. Throws Error{invalid_argument}
    /// if a rank is out of range or is listed twice.
    Communicator create(std::span<const int> ranks) const;
    /// Makes an intercommunicator (intercommunicator.hpp) between two groups of ranks, each in the order of its list. Collective: all ranks
    /// of this communicator call it with the same lists, else Error{mismatch} on all of them. A rank in neither list gets a null
    /// intercommunicator. Throws Error{invalid_argument} if a list is empty, or if a rank is out of range or is listed twice.
    Intercommunicator create_intercommunicator(std::span<const int> first, std::span<const int> second) const;
    /// Makes a communicator of the same ranks whose messages and collective operations are separate from those of this one. Collective.
    Communicator duplicate() const;
    /// Makes a communicator of the ranks that are left after failures, in their present order, so that the program can go on without the
    /// others. Collective over the ranks that are left; it returns when each of them has called it or is lost. If one of them dies
    /// meanwhile, the new communicator may have it as a member: then its collective calls fail, and its shrink() leaves that rank out.
    ///
    /// After a loss the call brings the other ranks here, too. Once a rank has called it, receives of this communicator fail on ranks that
    /// have not, with Error{peer_failed}; and a message that its receiver has not received when it calls shrink() is dropped.
    ///
    /// If all ranks that died were left out in this way, Job::finalize() succeeds. Throws Error{peer_failed} if the whole job has ended, or
    /// if the others have gone on without this rank because they lost the connection to it; Error{timeout} at the deadline, after which the
    /// rank cannot take part any more.
    Communicator shrink(std::optional<Timeout> timeout = {}) const;

    struct Implementation;

  private:
    friend class Job;
    friend class Collective;
    friend class Intercommunicator;
    friend class CompletionQueue;
    explicit Communicator(std::shared_ptr<Implementation> implementation) noexcept;
    const Implementation& checked() const;
    Received receive_whole(void* value, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const;
    Received receive_sized(void* data, void* (*resize)(void* data, std::uint64_t count), std::uint64_t element, int from, Tag tag,
                           std::optional<Timeout> timeout) const;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace rollcall
