/// \file
/// Intercommunicators: two groups of ranks, each of which sends data to the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <rollcall/export.h>
#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/communicator.hpp>
#include <rollcall/intergroup_call.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/request.hpp>

namespace rollcall {

/// How a job is connected with another one (listener.hpp).
struct ConnectOptions {
    /// The name of this job in error messages, at most 64 characters. Empty: an identifier that its starter made. It is looked at on rank 0
    /// only, and need only live until the call returns.
    std::string_view job_name = {};
    /// How long the jobs may take to meet. No value: the setting ROLLCALL_TIMEOUT. Then all ranks come together as at the start of a job,
    /// with the deadline ROLLCALL_LAUNCH_TIMEOUT.
    std::optional<Timeout> timeout = {};
};

/// A handle to two groups of ranks that have no rank in common. Copies refer to the same groups. A default-constructed handle is null.
/// Communicator::create_intercommunicator() makes them of ranks of one job, and Listener::accept() and connect() of ranks of two jobs
/// (listener.hpp). Point-to-point messages and collective operations go from one group to the other.
/// (MPI: intercommunicators, chapter 7.6; the operations are those of section 6.2.3.)
///
/// The rules in Communicator (communicator.hpp) for data, threads, deadlines and errors hold here. All ranks of both groups must make the
/// same collective calls, in the same order, one at a time. Each collective operation has three forms: x() returns when this rank's part is
/// done, start_x() returns at once with a Request, and plan_x() prepares an operation that the program repeats and returns a Plan. start_
/// and plan_ functions refuse temporaries that are not views, because the data must stay in place until the operation is done, or as long
/// as the plan exists. What is read and what is written must not overlap, but in an allreduce they may be the same elements.
class ROLLCALL_EXPORT Intercommunicator {
  public:
    /// \{
    /// A null handle, or one more handle to the same groups.
    Intercommunicator();
    ~Intercommunicator();
    Intercommunicator(const Intercommunicator&);
    Intercommunicator(Intercommunicator&&) noexcept;
    Intercommunicator& operator=(const Intercommunicator&);
    Intercommunicator& operator=(Intercommunicator&&) noexcept;
    /// \}

    /// False if this is null, as create_intercommunicator() gives it to ranks in neither group. Any other call on it throws Error{state}.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }
    /// The rank of this process in its own group.
    int rank() const;
    /// The number of ranks in the group of this rank.
    int size() const;
    /// The number of ranks in the other group.
    int remote_size() const;
    /// The name of this intercommunicator in error messages.
    const std::string& name() const;
    /// A communicator of the group of this rank. Its messages and operations are separate from those between the groups.
    const Communicator& local() const;
    /// The rank in the world communicator of rank `rank` of the other group. Between two jobs: see connect().
    int remote_world_rank(int rank) const;

    /// Makes a communicator of both groups. The ranks of the first group come first; each group keeps its order. Collective.
    Communicator merge() const;

    // --- between two jobs: listener.hpp --------------------------------------------------------------------------------

    /// Connects the ranks of `communicator` with the ranks of another job, which call Listener::accept(). Collective over `communicator`.
    /// `invitation` is what the other job's Listener gave; it is looked at on rank 0 only. See listener.hpp, also for the errors.
    static Intercommunicator connect(const Communicator& communicator, std::string_view invitation, const ConnectOptions& options = {});
    /// Ends the connection between two jobs in good order: waits for all ranks of both, then closes it. Collective over both jobs. Later
    /// calls that communicate over it throw Error{state}, also on communicators that were made from it, but not on local(). A later
    /// disconnect() does nothing. The destructor of the last handle disconnects, too: it waits for both jobs. So does Job::finalize().
    ///
    /// Throws Error{state} if requests, iterations of plans or calls of other threads are still under way (then nothing has changed), or if
    /// both groups are of one job; Error{timeout} if the other ranks have not come within ROLLCALL_TIMEOUT; Error{peer_failed} at once if a
    /// rank has died; and, as Job::finalize() does, a failure that has not been reported yet. Then the connection is closed.
    void disconnect() const;

    // --- point to point: with ranks of the other group ---------------------------------------------------------------
    // These behave as the functions of Communicator with the same names; `to` and `from` are ranks of the other group.

    /// \{
    /// Sends `data` to a rank of the other group. Returns when the buffer may be used again.
    void send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::Message D>
    void send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        both().send(data, remote(to, "send"), tag, timeout);
    }
    template <Transferable T, std::size_t N>
    void send(const T (&array)[N], int to) const {
        both().send(array, remote(to, "send"));
    }
    /// \}
    /// \{
    /// Receives the next message with this tag from a rank of the other group, and returns its size.
    Received receive(BytePointer data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::WritableMessage D>
    Received receive(D&& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().receive(data, remote(from, "receive"), tag, timeout);
    }
    template <Transferable T, std::size_t N>
    Received receive(T (&array)[N], int from) const {
        return both().receive(array, remote(from, "receive"));
    }
    /// \}
    /// Receives one object from a rank of the other group, and returns it.
    template <detail::TransferableObject T>
    T receive(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().template receive<T>(remote(from, "receive"), tag, timeout);
    }
    /// Receives a message of any size into a container with resize(), which is resized to fit.
    template <detail::Resizable D>
    Received receive_resized(D& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().receive_resized(data, remote(from, "receive_resized"), tag, timeout);
    }
    /// Waits for the next message with this tag from a rank of the other group, and returns its size in bytes. The message stays.
    std::uint64_t next_size(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    /// Starts to wait for such a message. Its arrival ends the request and so wakes an event loop.
    Request start_next_size(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    /// Looks for such a message without waiting. Returns nothing if there is none. Its arrival does not wake an event loop.
    std::optional<std::uint64_t> try_next_size(int from, Tag tag = 0) const;
    /// \{
    /// Starts a send to a rank of the other group.
    Request start_send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::LastingMessage D>
    Request start_send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().start_send(data, remote(to, "start_send"), tag, timeout);
    }
    template <detail::TransferableOrConst T, std::size_t N>
    Request start_send(T (&array)[N], int to) const {
        return both().start_send(array, remote(to, "start_send"));
    }
    /// \}
    /// \{
    /// Starts a receive from a rank of the other group.
    Request start_receive(BytePointer data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::WritableMessage D>
    Request start_receive(D&& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().start_receive(data, remote(from, "start_receive"), tag, timeout);
    }
    template <Transferable T, std::size_t N>
    Request start_receive(T (&array)[N], int from) const {
        return both().start_receive(array, remote(from, "start_receive"));
    }
    /// \}

    // --- collective --------------------------------------------------------------------------------------------------

    /// \{
    /// Returns on a rank only after all ranks of both groups have called it.
    void barrier(const CollectiveOptions& options = {}) const;
    Request start_barrier(const CollectiveOptions& options = {}) const;
    Plan plan_barrier(const PlanOptions& options = {}) const;
    /// \}

    // Operations with a root (broadcast, scatter, gather, reduce) take one buffer. Its meaning depends on the rank that calls. The ranks of
    // the root's group other than the root take no part: their buffer is not looked at and may be {}. Throws Error{invalid_argument} if a
    // buffer that would be written is const.

    /// \{
    /// Sends `data` from the root to all ranks of the other group. It is read at the root and written in the other group.
    void broadcast(BytePointer data, std::uint64_t bytes, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted(detail::IntergroupOperation::broadcast, data.get(), data.get(), bytes, root), options);
    }
    template <Readable D = std::span<std::byte>>
    void broadcast(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted_range(detail::IntergroupOperation::broadcast, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_broadcast(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(detail::rooted_range(detail::IntergroupOperation::broadcast, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Plan plan_broadcast(D&& data, IntergroupRoot root, const PlanOptions& options = {}) const {
        return plan(detail::rooted_range(detail::IntergroupOperation::broadcast, data, root), options);
    }
    /// \}

    /// \{
    /// Sends each rank of the other group its block of the root's data. At the root `data` has one block for each rank of the other group,
    /// in rank order. In the other group `data` is where this rank's block goes. All blocks have the same size. `bytes` is the size of
    /// `data`: of all blocks at the root, of one block in the other group.
    void scatter(BytePointer data, std::uint64_t bytes, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted(detail::IntergroupOperation::scatter, data.get(), data.get(), bytes, root), options);
    }
    template <Readable D = std::span<std::byte>>
    void scatter(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted_range(detail::IntergroupOperation::scatter, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_scatter(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(detail::rooted_range(detail::IntergroupOperation::scatter, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Plan plan_scatter(D&& data, IntergroupRoot root, const PlanOptions& options = {}) const {
        return plan(detail::rooted_range(detail::IntergroupOperation::scatter, data, root), options);
    }
    /// \}
    /// \{
    /// Scatter with blocks of different sizes. At the root `blocks` says where the block of each rank of the other group is in `data`. The
    /// other ranks of both groups pass Blocks(). In the other group `data` is where this rank's block goes; its length must be what the
    /// root counts for this rank, else Error{mismatch} on all ranks, in this call or the next one (Blocks). All ranks must call this form.
    template <Readable D = std::span<std::byte>>
    void scatter(D&& data, const Blocks& blocks, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted_blocks(detail::IntergroupOperation::scatter, data, blocks, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_scatter(D&& data, const Blocks& blocks, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(detail::rooted_blocks(detail::IntergroupOperation::scatter, data, blocks, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Plan plan_scatter(D&& data, const Blocks& blocks, IntergroupRoot root, const PlanOptions& options = {}) const {
        return plan(detail::rooted_blocks(detail::IntergroupOperation::scatter, data, blocks, root), options);
    }
    /// \}

    /// \{
    /// Collects the blocks of the other group at the root. In the other group `data` is this rank's block. At the root `data` is where the
    /// blocks of all ranks of the other group go, in rank order. All blocks have the same size, and `bytes` is the size of `data`.
    void gather(BytePointer data, std::uint64_t bytes, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted(detail::IntergroupOperation::gather, data.get(), data.get(), bytes, root), options);
    }
    template <Readable D = std::span<std::byte>>
    void gather(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted_range(detail::IntergroupOperation::gather, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_gather(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(detail::rooted_range(detail::IntergroupOperation::gather, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Plan plan_gather(D&& data, IntergroupRoot root, const PlanOptions& options = {}) const {
        return plan(detail::rooted_range(detail::IntergroupOperation::gather, data, root), options);
    }
    /// \}
    /// \{
    /// Gather with blocks of different sizes. At the root `blocks` says where the block of each rank of the other group goes in `data`. The
    /// blocks must not overlap, and what lies between them stays as it was. The other ranks of both groups pass Blocks(). In the other
    /// group `data` is this rank's block; its length must be what the root counts for this rank, else Error{mismatch} on all ranks, in this
    /// call or the next one (Blocks). All ranks must call this form.
    template <Readable D = std::span<std::byte>>
    void gather(D&& data, const Blocks& blocks, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::rooted_blocks(detail::IntergroupOperation::gather, data, blocks, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_gather(D&& data, const Blocks& blocks, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(detail::rooted_blocks(detail::IntergroupOperation::gather, data, blocks, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Plan plan_gather(D&& data, const Blocks& blocks, IntergroupRoot root, const PlanOptions& options = {}) const {
        return plan(detail::rooted_blocks(detail::IntergroupOperation::gather, data, blocks, root), options);
    }
    /// \}

    /// \{
    /// Combines the elements of the other group at the root, in any order that the function allows. In the other group `data` has the
    /// elements that this rank brings. At the root `data` is where the result goes, with as many elements. `function` is as in
    /// Communicator::reduce(). All ranks give elements of the same type, including those that take no part.
    template <Readable D>
    void reduce(D&& data, const auto& function, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(detail::reduced_range(data, function, root), options);
    }
    template <detail::LastingReadable D>
    Request start_reduce(D&& data, const auto& function, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(detail::reduced_range(data, function, root), options);
    }
    template <detail::LastingReadable D>
    Plan plan_reduce(D&& data, const auto& function, IntergroupRoot root, const PlanOptions& options = {}) const {
        return plan(detail::reduced_range(data, function, root), options);
    }
    /// \}

    /// \{
    /// Combines the elements of each group, as reduce() does, and gives the result to all ranks of the other group. All ranks of both
    /// groups bring the same number of elements, and `result` has as many, else Error{invalid_argument}. Both buffers may be the same.
    template <Readable C, detail::WritableResultOf<C> D>
    void allreduce(C&& contribution, D&& result, const auto& function, const CollectiveOptions& options = {}) const {
        call(detail::reduced(contribution, result, function), options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D>
    Request start_allreduce(C&& contribution, D&& result, const auto& function, const CollectiveOptions& options = {}) const {
        return start(detail::reduced(contribution, result, function), options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D>
    Plan plan_allreduce(C&& contribution, D&& result, const auto& function, const PlanOptions& options = {}) const {
        return plan(detail::reduced(contribution, result, function), options);
    }
    /// \}

    /// \{
    /// Gives each rank the blocks of all ranks of the other group, in rank order, in `all`. `block` is this rank's own block, of `bytes`
    /// bytes. All blocks of a group have the same size. The sizes of the two groups may differ, and may be 0. `all_bytes` is the size of
    /// `all`, a multiple of remote_size(), else Error{invalid_argument}: remote_size() times the block size of the other group. `block` and
    /// `all` must not overlap; Error{invalid_argument} if they begin at the same address.
    /// (Kang, Träff et al., "Scalable algorithms for MPI intergroup allgather and allgatherv".)
    void allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer all, std::uint64_t all_bytes,
                   const CollectiveOptions& options = {}) const {
        call({detail::IntergroupOperation::allgather, block.get(), all.get(), bytes, all_bytes}, options);
    }
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& all, const CollectiveOptions& options = {}) const {
        call(detail::exchanged<D>(detail::IntergroupOperation::allgather, block, all), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& all, const CollectiveOptions& options = {}) const {
        return start(detail::exchanged<D>(detail::IntergroupOperation::allgather, block, all), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Plan plan_allgather(B&& block, D&& all, const PlanOptions& options = {}) const {
        return plan(detail::exchanged<D>(detail::IntergroupOperation::allgather, block, all), options);
    }
    /// \}
    /// \{
    /// Allgather with blocks of different sizes. `blocks` says where the block of each rank of the other group goes in `all`. The sizes
    /// that a rank gives must be those of the blocks of the other group, else Error{mismatch} on all ranks, in this call or the next one.
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& all, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        call(detail::gathered_blocks<D>(block, all, blocks), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& all, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        return start(detail::gathered_blocks<D>(block, all, blocks), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Plan plan_allgather(B&& block, D&& all, const Blocks& blocks, const PlanOptions& options = {}) const {
        return plan(detail::gathered_blocks<D>(block, all, blocks), options);
    }
    /// \}

    /// \{
    /// Sends a block from each rank to each rank of the other group. `blocks`, of `bytes` bytes, has a block for each rank of the other
    /// group, in rank order. `all`, of `all_bytes` bytes, gets a block from each of them, in rank order. All blocks that a group sends have
    /// the same size. The sizes of the two groups may differ, and may be 0. `bytes` and `all_bytes` are multiples of remote_size(), else
    /// Error{invalid_argument}. `blocks` and `all` must not overlap; Error{invalid_argument} if they begin at the same address.
    void alltoall(ConstBytePointer blocks, std::uint64_t bytes, BytePointer all, std::uint64_t all_bytes,
                  const CollectiveOptions& options = {}) const {
        call({detail::IntergroupOperation::alltoall, blocks.get(), all.get(), bytes, all_bytes}, options);
    }
    template <Readable B, detail::WritableResultOf<B> D>
    void alltoall(B&& blocks, D&& all, const CollectiveOptions& options = {}) const {
        call(detail::exchanged<D>(detail::IntergroupOperation::alltoall, blocks, all), options);
    }
    template <detail::LastingReadable B, detail::WritableResultOf<B> D>
    Request start_alltoall(B&& blocks, D&& all, const CollectiveOptions& options = {}) const {
        return start(detail::exchanged<D>(detail::IntergroupOperation::alltoall, blocks, all), options);
    }
    template <detail::LastingReadable B, detail::WritableResultOf<B> D>
    Plan plan_alltoall(B&& blocks, D&& all, const PlanOptions& options = {}) const {
        return plan(detail::exchanged<D>(detail::IntergroupOperation::alltoall, blocks, all), options);
    }
    /// \}
    /// \{
    /// Alltoall with blocks of different sizes. `to_send` says where in `data` the block for each rank of the other group is, and
    /// `to_receive` where in `all` the block from each of them goes. Blocks must not overlap in `all`. Each rank must count for each rank
    /// of the other group what that rank sends to it, else Error{mismatch}, as in scatter(). All ranks must call this form.
    template <Readable B, detail::WritableResultOf<B> D>
    void alltoall(B&& data, const Blocks& to_send, D&& all, const Blocks& to_receive, const CollectiveOptions& options = {}) const {
        call(detail::exchanged_blocks<D>(data, to_send, all, to_receive), options);
    }
    template <detail::LastingReadable B, detail::WritableResultOf<B> D>
    Request start_alltoall(B&& data, const Blocks& to_send, D&& all, const Blocks& to_receive,
                           const CollectiveOptions& options = {}) const {
        return start(detail::exchanged_blocks<D>(data, to_send, all, to_receive), options);
    }
    template <detail::LastingReadable B, detail::WritableResultOf<B> D>
    Plan plan_alltoall(B&& data, const Blocks& to_send, D&& all, const Blocks& to_receive, const PlanOptions& options = {}) const {
        return plan(detail::exchanged_blocks<D>(data, to_send, all, to_receive), options);
    }
    /// \}

  private:
    friend class Communicator;
    friend class Listener;
    friend struct detail::IntergroupForms;
    struct Implementation;
    explicit Intercommunicator(std::shared_ptr<Implementation> implementation) noexcept;
    struct Meeting;
    /// Connects with another job. This job listens, or it is the one that connects.
    static Intercommunicator join(const Communicator& communicator, bool listens, const ConnectOptions& options, const Meeting& way);
    /// `both` has the ranks of the first group first. `local` is the communicator of this rank's group.
    static Intercommunicator of(Communicator both, Communicator local, int in_first, bool is_first);
    const Implementation& checked() const;
    const Communicator& both() const;
    /// The rank in both() of rank `rank` of the other group.
    int remote(int rank, const char* function) const;
    void call(const detail::IntergroupCall& call, const CollectiveOptions& options) const;
    Request start(const detail::IntergroupCall& call, const CollectiveOptions& options) const;
    Plan plan(const detail::IntergroupCall& call, const PlanOptions& options) const;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace rollcall
