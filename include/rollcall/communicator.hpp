/// \file
/// Communicators: groups of ranks that send each other messages and call operations together.
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
#include <rollcall/exchanges.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/reducing_operations.hpp>
#include <rollcall/request.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

class Intercommunicator;

/// Distinguishes messages between two ranks. All 64 bits are the user's.
using Tag = std::uint64_t;

/// A handle to a group of ranks; copies refer to the same group. A default-constructed one is null.
///
/// Threads: point-to-point calls may be made by any number of threads at once. Collective calls (all below `collective`) on one
/// communicator must be made by one thread at a time, in the same order on all its ranks; on different communicators they may go on at
/// once.
///
/// Errors: wrong arguments throw Error{invalid_argument} before anything is sent, sizes among them that no buffer can have.
/// Error{peer_failed} names a rank that died; Error{mismatch} both calls of ranks that called different things; Error{timeout} what did not
/// end in time. After a failed collective operation the communicator's operations all fail at once, with the same reason; point-to-point
/// messages between living ranks go on.
class ROLLCALL_EXPORT Communicator : public ReducingOperations, public Exchanges {
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

    /// How many ranks of this communicator are on the host of this one, and how many of them come before this one. O(size).
    int local_size() const;
    int local_rank() const;

    // What is given as `data` or `block` is an object (double, a trivially copyable struct, std::pair, ...), elements one after
    // another (std::vector, std::array, std::span, std::string, a C array, ...), or an address and a number of bytes (buffer.hpp).
    // start_ and plan_ functions take no temporaries, but for views: what they are given must stay until the operation is done.

    // --- point to point ---------------------------------------------------------------------------------------------
    // Messages from one rank to another with the same tag are received in the order in which they were sent. A send is
    // done when its buffer may be used again: early data waits at the receiver within its landing budget
    // (ROLLCALL_LANDING_BYTES), so that is usually before the receiver asks for it. Every receive names its source.
    // A C array goes without a tag: send(array, 8, 1) could mean 8 bytes to rank 1, or all of it to rank 8. Use std::span(array).

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

    /// A message may be shorter than the buffer, and end within an element: what is behind its end stays as it was. A longer
    /// one throws Error{truncated}. Into an object only one of its size goes: a shorter one throws Error{mismatch}.
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
    template <Transferable T>
    T receive(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        T value;
        receive_whole(std::addressof(value), sizeof(T), from, tag, timeout);
        return value;
    }
    /// Receives a message of any size into a std::vector or std::string (anything with resize()), which becomes as long. One that
    /// ends within an element throws Error{mismatch} and is not taken. The deadline is one for its arrival and its data.
    template <detail::Resizable D>
    Received receive_resized(D& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto resize = [](void* what, std::uint64_t count) -> void* {
            D& resized = *static_cast<D*>(what);
            resized.resize(static_cast<std::size_t>(count));
            return std::ranges::data(resized);
        };
        return receive_sized(&data, resize, sizeof(detail::Element<D>), from, tag, timeout);
    }
    /// Waits until the next message with this tag from that rank, for which no receive waits already, has been announced, and gives its
    /// size in bytes. The message stays for a receive: of this thread, as long as no other one receives with that tag from there.
    std::uint64_t next_size(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;

    /// The deadline counts from here, and is looked at when the request is waited for or tested.
    Request start_send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::LastingMessage D>
    Request start_send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        const auto elements = detail::elements_of(data);
        return start_send(detail::memory(elements), elements.size_bytes(), to, tag, timeout);
    }
    template <Transferable T, std::size_t N>
    Request start_send(const T (&array)[N], int to) const {
        return start_send(std::span(array), to);
    }
    /// Received::bytes says how much came, into an object, too.
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

    // --- collective --------------------------------------------------------------------------------------------------
    // Each operation in three forms: the call, start_ (a request), and plan_ (an operation that is repeated, see Plan; collective).
    // allgather() and alltoall() are in exchanges.hpp.

    /// Returns on each rank after all ranks have called it.
    void barrier(const CollectiveOptions& options = {}) const;
    void barrier(Timeout timeout) const;
    Request start_barrier(const CollectiveOptions& options = {}) const;
    Plan plan_barrier(const PlanOptions& options = {}) const;

    /// Sends `bytes` bytes of the root to all ranks, in place: the buffer is read at the root and written elsewhere.
    /// Any size (0 too), any root. Returns at a rank when its part is done, not when all ranks have the data.
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

    /// Sends each rank its block of the root's data: block r, of `bytes` bytes, to rank r. `data` (blocks of all ranks, in
    /// rank order) counts at the root only; `block` is where this rank's block goes, at the root it may be its place in
    /// `data`. Any size (0 too), any root. Returns at a rank when its part is done.
    void scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root,
                          const CollectiveOptions& options = {}) const;
    Plan plan_scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    /// The same with ranges: `block` is one element or a range of elements, and says the size of a block; at the root `data` must have
    /// as many elements as all blocks together, else Error{invalid_argument}. Elsewhere it is not looked at, and may be {}.
    template <Writable B, detail::DataOf<B> D = std::span<const detail::Element<B>>>
    void scatter(D&& data, B&& block, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), root, "scatter");
        scatter(detail::memory(all), detail::memory(one), one.size_bytes(), root, options);
    }
    template <Writable B, detail::LastingDataOf<B> D = std::span<const detail::Element<B>>>
    Request start_scatter(D&& data, B&& block, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), root, "start_scatter");
        return start_scatter(detail::memory(all), detail::memory(one), one.size_bytes(), root, options);
    }
    template <Writable B, detail::LastingDataOf<B> D = std::span<const detail::Element<B>>>
    Plan plan_scatter(D&& data, B&& block, int root, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), root, "plan_scatter");
        return plan_scatter(detail::memory(all), detail::memory(one), one.size_bytes(), root, options);
    }

    /// Blocks of own sizes (MPI_Scatterv): `blocks` says at the root where the block of each rank is in `data`, and is Blocks() elsewhere;
    /// `block` says the size of this rank's own. At the root Error{invalid_argument} when the numbers are not as many as ranks, negative,
    /// or lead out of `data`, or when its own block has another size. All ranks must call this form: which algorithm runs depends on it.
    void scatter(ConstBytePointer data, const Blocks& blocks, BytePointer block, std::uint64_t bytes, int root,
                 const CollectiveOptions& options = {}) const;
    Request start_scatter(ConstBytePointer data, const Blocks& blocks, BytePointer block, std::uint64_t bytes, int root,
                          const CollectiveOptions& options = {}) const;
    Plan plan_scatter(ConstBytePointer data, const Blocks& blocks, BytePointer block, std::uint64_t bytes, int root,
                      const PlanOptions& options = {}) const;
    template <Writable B, detail::DataOf<B> D = std::span<const detail::Element<B>>>
    void scatter(D&& data, const Blocks& blocks, B&& block, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        scatter(detail::memory(all), detail::among(blocks, all), detail::memory(one), one.size_bytes(), root, options);
    }
    template <Writable B, detail::LastingDataOf<B> D = std::span<const detail::Element<B>>>
    Request start_scatter(D&& data, const Blocks& blocks, B&& block, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        return start_scatter(detail::memory(all), detail::among(blocks, all), detail::memory(one), one.size_bytes(), root, options);
    }
    template <Writable B, detail::LastingDataOf<B> D = std::span<const detail::Element<B>>>
    Plan plan_scatter(D&& data, const Blocks& blocks, B&& block, int root, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        return plan_scatter(detail::memory(all), detail::among(blocks, all), detail::memory(one), one.size_bytes(), root, options);
    }

    /// Collects the blocks of all ranks, of `bytes` bytes each, at the root, in rank order. `data` counts at the root only;
    /// `block` is this rank's block, at the root it may be its place in `data`.
    void gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root,
                         const CollectiveOptions& options = {}) const;
    Plan plan_gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    /// The same with ranges, as scatter().
    template <Readable B, detail::WritableDataOf<B> D = std::span<detail::Element<B>>>
    void gather(B&& block, D&& data, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), root, "gather");
        gather(detail::memory(one), detail::memory(all), one.size_bytes(), root, options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D = std::span<detail::Element<B>>>
    Request start_gather(B&& block, D&& data, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), root, "start_gather");
        return start_gather(detail::memory(one), detail::memory(all), one.size_bytes(), root, options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D = std::span<detail::Element<B>>>
    Plan plan_gather(B&& block, D&& data, int root, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), root, "plan_gather");
        return plan_gather(detail::memory(one), detail::memory(all), one.size_bytes(), root, options);
    }

    /// Blocks of own sizes (MPI_Gatherv), as scatter(): `blocks` says at the root where each block goes in `data`. There they must not
    /// overlap. What is between them stays as it was.
    void gather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks, int root,
                const CollectiveOptions& options = {}) const;
    Request start_gather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks, int root,
                         const CollectiveOptions& options = {}) const;
    Plan plan_gather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks, int root,
                     const PlanOptions& options = {}) const;
    template <Readable B, detail::WritableDataOf<B> D = std::span<detail::Element<B>>>
    void gather(B&& block, D&& data, const Blocks& blocks, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        gather(detail::memory(one), one.size_bytes(), detail::memory(all), detail::among(blocks, all), root, options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D = std::span<detail::Element<B>>>
    Request start_gather(B&& block, D&& data, const Blocks& blocks, int root, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        return start_gather(detail::memory(one), one.size_bytes(), detail::memory(all), detail::among(blocks, all), root, options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D = std::span<detail::Element<B>>>
    Plan plan_gather(B&& block, D&& data, const Blocks& blocks, int root, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        return plan_gather(detail::memory(one), one.size_bytes(), detail::memory(all), detail::among(blocks, all), root, options);
    }

    // reduce(), allreduce(), reduce_scatter(), scan() and exclusive_scan(): reducing_operations.hpp.

    /// Which algorithm a call of this operation ("broadcast", "scatter", ...) and size would run, and why, in a sentence. `bytes`: of
    /// the message, of a block, or kOwnSizes. Throws Error{invalid_argument} with the names when there is no such operation.
    std::string explain(std::string_view operation, std::uint64_t bytes = 0, const CollectiveOptions& options = {}) const;

    /// Makes communicators of the ranks that give the same colour, ordered by key, then by rank. Collective. A rank that
    /// gives kNoColor gets a null communicator.
    Communicator split(int color, int key) const;
    static constexpr int kNoColor = -1;
    /// A communicator for each host, of the ranks that are there, in their order. Collective.
    Communicator split_by_host() const;
    /// A communicator of these ranks, in the order of the list. Collective over this communicator: all its ranks give the same list,
    /// else Error{mismatch} on all of them. Who is not in the list gets a null communicator. Throws Error{invalid_argument} when a rank
    /// is out of range or stands there twice.
    Communicator create(std::span<const int> ranks) const;
    /// An intercommunicator (intercommunicator.hpp) of two groups of these ranks, each in the order of its list. Collective over this
    /// communicator: all its ranks give the same lists, else Error{mismatch} on all of them. A rank in neither gets a null one. Throws
    /// Error{invalid_argument} when a group is empty, or a rank is out of range or stands there twice.
    Intercommunicator create_intercommunicator(std::span<const int> first, std::span<const int> second) const;
    /// A communicator of the same ranks with its own messages and sequence. Collective.
    Communicator duplicate() const;

    struct Implementation;

  private:
    friend class Job;
    friend class Collective;
    friend class Intercommunicator;
    friend class CompletionQueue;
    explicit Communicator(std::shared_ptr<Implementation> implementation) noexcept;
    const Implementation& checked() const;
    void check_blocks(std::size_t all, std::size_t one, int root, const char* operation) const;
    Received receive_whole(void* value, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const;
    Received receive_sized(void* data, void* (*resize)(void* data, std::uint64_t count), std::uint64_t element, int from, Tag tag,
                           std::optional<Timeout> timeout) const;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace rollcall
