/// \file
/// Communicators: groups of ranks that send each other messages and call operations together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <rollcall/plan.hpp>
#include <rollcall/request.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

/// Distinguishes messages between two ranks. All 64 bits are the user's.
using Tag = std::uint64_t;

/// What can be sent as it lies in memory. Not what only refers to data elsewhere (pointers, spans, string views), and not
/// plain arrays, which would make send(array, bytes, rank) mean send(value, rank, tag): use a std::span of them.
template <class T>
concept Transferable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_null_pointer_v<T> && !std::is_array_v<T> &&
                       !std::ranges::borrowed_range<T>;

/// How a collective operation is done. All ranks must say the same, but for the deadline and the record.
struct CollectiveOptions {
    /// A name or alias of `rollcall info --algorithms`; empty: the setting of the operation (ROLLCALL_BROADCAST, ...), by
    /// default `auto`.
    std::string_view algorithm;
    /// Piece of algorithms that pass pieces on, in bytes; 0: whole; nothing: the setting ROLLCALL_SEGMENT_BYTES (binomial: whole).
    std::optional<std::uint64_t> segment_bytes;
    /// Deadline; nothing: the setting ROLLCALL_TIMEOUT.
    std::optional<Timeout> timeout;
    /// Filled when a blocking call returns, if given.
    CallRecord* record = nullptr;
};

/// A handle to a group of ranks; copies refer to the same group. A default-constructed one is null.
///
/// Threads: point-to-point calls may be made by any number of threads at once. Collective calls (all below `collective`) on one
/// communicator must be made by one thread at a time, in the same order on all its ranks; on different communicators they may go on at
/// once.
///
/// Errors: wrong arguments throw Error{invalid_argument} before anything is sent. Error{peer_failed} names a rank that
/// died; Error{mismatch} both calls of ranks that called different things; Error{timeout} what did not end in time.
/// After a failed collective operation the communicator's operations all fail at once, with the same reason;
/// point-to-point messages between living ranks go on.
class Communicator {
  public:
    Communicator();
    ~Communicator();
    Communicator(const Communicator&);
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(const Communicator&);
    Communicator& operator=(Communicator&&) noexcept;

    /// False: a null communicator, as split() gives to ranks without a colour. Calling anything else on it throws Error{state}.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }
    int rank() const;
    int size() const;
    const std::string& name() const;
    /// The rank that `rank` of this communicator has in the world communicator.
    int world_rank(int rank) const;

    // --- point to point ---------------------------------------------------------------------------------------------
    // Messages from one rank to another with the same tag are received in the order in which they were sent. A send is
    // done when its buffer may be used again: early data waits at the receiver within its landing budget
    // (ROLLCALL_LANDING_BYTES), so that is usually before the receiver asks for it. Every receive names its source.

    void send(const void* data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    Received receive(void* data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    Request start_send(const void* data, std::uint64_t bytes, int to, Tag tag = 0) const;
    Request start_receive(void* data, std::uint64_t bytes, int from, Tag tag = 0) const;

    template <class T, std::size_t N>
    requires Transferable<std::remove_const_t<T>>
    void send(std::span<T, N> data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        send(data.data(), data.size_bytes(), to, tag, timeout);
    }
    template <Transferable T>
    void send(const T& value, int to, Tag tag = 0) const {
        send(&value, sizeof(T), to, tag);
    }
    /// A message may be shorter than the span, and end within an element: what is behind its end stays as it was. A longer
    /// one throws Error{truncated}.
    template <Transferable T, std::size_t N>
    Received receive(std::span<T, N> data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return receive(data.data(), data.size_bytes(), from, tag, timeout);
    }
    /// A message of another size is taken and throws: Error{truncated} when it is longer than a T, Error{mismatch} when shorter.
    template <Transferable T>
    T receive(int from, Tag tag = 0) const {
        T value;
        receive_whole(&value, sizeof(T), from, tag);
        return value;
    }
    template <class T, std::size_t N>
    requires Transferable<std::remove_const_t<T>> Request start_send(std::span<T, N> data, int to, Tag tag = 0)
    const { return start_send(data.data(), data.size_bytes(), to, tag); }
    template <Transferable T, std::size_t N>
    Request start_receive(std::span<T, N> data, int from, Tag tag = 0) const {
        return start_receive(data.data(), data.size_bytes(), from, tag);
    }

    // --- collective --------------------------------------------------------------------------------------------------

    /// Returns on each rank after all ranks have called it.
    void barrier(std::optional<Timeout> timeout = {}) const;
    Request start_barrier() const;

    /// Sends `bytes` bytes of the root to all ranks, in place: the buffer is read at the root and written elsewhere.
    /// Any size (0 too), any root. Returns at a rank when its part is done, not when all ranks have the data.
    void broadcast(void* data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_broadcast(void* data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;

    template <Transferable T, std::size_t N>
    void broadcast(std::span<T, N> data, int root, const CollectiveOptions& options = {}) const {
        broadcast(data.data(), data.size_bytes(), root, options);
    }
    template <Transferable T>
    void broadcast(T& value, int root, const CollectiveOptions& options = {}) const {
        broadcast(&value, sizeof(T), root, options);
    }
    template <Transferable T, std::size_t N>
    Request start_broadcast(std::span<T, N> data, int root, const CollectiveOptions& options = {}) const {
        return start_broadcast(data.data(), data.size_bytes(), root, options);
    }

    /// Sends each rank its block of the root's data: block r, of `bytes` bytes, to rank r. `data` (blocks of all ranks, in
    /// rank order) counts at the root only; `block` is where this rank's block goes, at the root it may be its place in
    /// `data`. Any size (0 too), any root. Returns at a rank when its part is done.
    void scatter(const void* data, void* block, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_scatter(const void* data, void* block, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    /// Collects the blocks of all ranks, of `bytes` bytes each, at the root, in rank order. `data` counts at the root only;
    /// `block` is this rank's block, at the root it may be its place in `data`.
    void gather(const void* block, void* data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_gather(const void* block, void* data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;

    /// The same with spans: the size of a block is that of `block`; at the root `data` must have as many elements as all
    /// blocks together (elsewhere it is not looked at), else Error{invalid_argument}.
    template <Transferable T, std::size_t N>
    void scatter(std::span<const std::type_identity_t<T>> data, std::span<T, N> block, int root,
                 const CollectiveOptions& options = {}) const {
        check_blocks(data.size(), block.size(), root, "scatter");
        scatter(data.data(), block.data(), block.size_bytes(), root, options);
    }
    template <class T, std::size_t N>
    requires Transferable<std::remove_const_t<T>>
    void gather(std::span<T, N> block, std::span<std::remove_const_t<T>> data, int root, const CollectiveOptions& options = {}) const {
        check_blocks(data.size(), block.size(), root, "gather");
        gather(block.data(), data.data(), block.size_bytes(), root, options);
    }

    /// A scatter or gather that is repeated (see Plan). Collective.
    Plan plan_scatter(const void* data, void* block, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    Plan plan_gather(const void* block, void* data, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    template <Transferable T, std::size_t N>
    Plan plan_scatter(std::span<const std::type_identity_t<T>> data, std::span<T, N> block, int root,
                      const PlanOptions& options = {}) const {
        check_blocks(data.size(), block.size(), root, "plan_scatter");
        return plan_scatter(data.data(), block.data(), block.size_bytes(), root, options);
    }
    template <class T, std::size_t N>
    requires Transferable<std::remove_const_t<T>> Plan plan_gather(std::span<T, N> block, std::span<std::remove_const_t<T>> data, int root,
                                                                   const PlanOptions& options = {})
    const {
        check_blocks(data.size(), block.size(), root, "plan_gather");
        return plan_gather(block.data(), data.data(), block.size_bytes(), root, options);
    }

    /// Which algorithm a call of this size would run, and why, in a sentence. `bytes`: of the message, of a block.
    std::string explain_broadcast(std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    std::string explain_scatter(std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    std::string explain_gather(std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    std::string explain_barrier() const;

    /// Makes communicators of the ranks that give the same colour, ordered by key, then by rank. Collective. A rank that
    /// gives kNoColor gets a null communicator.
    Communicator split(int color, int key) const;
    static constexpr int kNoColor = -1;
    /// A communicator of the same ranks with its own messages and sequence. Collective.
    Communicator duplicate() const;

    struct Implementation;

  private:
    friend class Job;
    explicit Communicator(std::shared_ptr<Implementation> implementation) noexcept;
    const Implementation& checked() const;
    void check_blocks(std::size_t all, std::size_t one, int root, const char* operation) const;
    void receive_whole(void* value, std::uint64_t bytes, int from, Tag tag) const;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace rollcall
