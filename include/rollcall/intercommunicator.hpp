/// \file
/// Intercommunicators: two groups of ranks that exchange data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <rollcall/export.h>
#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/communicator.hpp>
#include <rollcall/reduction.hpp>
#include <rollcall/request.hpp>

namespace rollcall {

/// A root in the group of the rank that calls, and one in the other group. All ranks name the same one: those of its group as Mine, the
/// others as Theirs.
struct Mine {
    int rank;
};
struct Theirs {
    int rank;
};

class IntergroupRoot {
  public:
    constexpr IntergroupRoot(Mine root) noexcept : rank_(root.rank), is_mine_(true) {}
    constexpr IntergroupRoot(Theirs root) noexcept : rank_(root.rank), is_mine_(false) {}
    constexpr int rank() const noexcept { return rank_; }
    constexpr bool is_mine() const noexcept { return is_mine_; }

  private:
    int rank_;
    bool is_mine_;
};

namespace detail {

enum class IntergroupOperation : std::uint8_t { broadcast, scatter, gather, reduce, allreduce, allgather, alltoall };

/// What a function was given. Bytes of which there are none to read or to write are not looked at.
struct IntergroupCall {
    IntergroupOperation operation;
    const void* own = nullptr;  ///< Read.
    void* other = nullptr;      ///< Written; with a root, the same as `own`, or null if that is const.
    std::uint64_t own_bytes = 0, other_bytes = 0;
    std::optional<IntergroupRoot> root = {};
    const Blocks* blocks = nullptr;
    Reduction reduction = {};
    std::uint64_t element_bytes = 1;
};

}  // namespace detail

/// A handle to two groups of ranks that have no rank in common; copies refer to the same. A default-constructed one is null. Collective
/// functions move data from one group to the other. All ranks of both groups call them, in the same order, one at a time. Threads and
/// errors as with Communicator. (MPI: intercommunicators, chapter 7.6; the operations are those of section 6.2.3.)
///
/// Data are objects, ranges of elements, or bytes (void*, std::byte*, characters) with their number, as in Communicator. start_ functions
/// give a request, and take no temporaries but views: what they are given must stay until the operation is done. There are no plans.
class ROLLCALL_EXPORT Intercommunicator {
  public:
    Intercommunicator();
    ~Intercommunicator();
    Intercommunicator(const Intercommunicator&);
    Intercommunicator(Intercommunicator&&) noexcept;
    Intercommunicator& operator=(const Intercommunicator&);
    Intercommunicator& operator=(Intercommunicator&&) noexcept;

    /// False: null, as create_intercommunicator() gives to ranks of neither group. Anything else called on it throws Error{state}.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }
    /// Of the group of this rank.
    int rank() const;
    int size() const;
    /// Of the other group.
    int remote_size() const;
    const std::string& name() const;
    /// The group of this rank, as a communicator of its own: its messages and operations are apart from those between the groups.
    const Communicator& local() const;
    /// The rank that a rank of the other group has in the world communicator.
    int remote_world_rank(int rank) const;

    /// A communicator of both groups: the ranks of the first group come first, in their order. Collective.
    Communicator merge() const;

    // --- point to point: with ranks of the other group ---------------------------------------------------------------
    // As those of Communicator: tags, order, early data, deadlines.

    void send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::Message D>
    void send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        both().send(data, remote(to, "send"), tag, timeout);
    }
    Received receive(BytePointer data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::WritableMessage D>
    Received receive(D&& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().receive(data, remote(from, "receive"), tag, timeout);
    }
    template <Transferable T>
    T receive(int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().template receive<T>(remote(from, "receive"), tag, timeout);
    }
    Request start_send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::LastingMessage D>
    Request start_send(D&& data, int to, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().start_send(data, remote(to, "start_send"), tag, timeout);
    }
    Request start_receive(BytePointer data, std::uint64_t bytes, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const;
    template <detail::WritableMessage D>
    Request start_receive(D&& data, int from, Tag tag = 0, std::optional<Timeout> timeout = {}) const {
        return both().start_receive(data, remote(from, "start_receive"), tag, timeout);
    }

    // --- collective --------------------------------------------------------------------------------------------------

    /// Returns on each rank after all ranks of both groups have called it.
    void barrier(const CollectiveOptions& options = {}) const;
    Request start_barrier(const CollectiveOptions& options = {}) const;

    // With a root, one buffer each: what it is depends on who calls. The other ranks of the root's group have no part in it: theirs is not
    // looked at, and may be {}.

    /// From the root to all ranks of the other group: read at the root, written in the other group.
    void broadcast(BytePointer data, std::uint64_t bytes, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(rooted(detail::IntergroupOperation::broadcast, data.get(), data.get(), bytes, root), options);
    }
    template <Readable D = std::span<std::byte>>
    void broadcast(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(rooted_range(detail::IntergroupOperation::broadcast, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_broadcast(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(rooted_range(detail::IntergroupOperation::broadcast, data, root), options);
    }

    /// At the root: a block for each rank of the other group, in their order. In the other group: where this rank's block goes. All blocks
    /// have one size; `bytes` is that of what is given.
    void scatter(BytePointer data, std::uint64_t bytes, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(rooted(detail::IntergroupOperation::scatter, data.get(), data.get(), bytes, root), options);
    }
    template <Readable D = std::span<std::byte>>
    void scatter(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(rooted_range(detail::IntergroupOperation::scatter, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_scatter(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(rooted_range(detail::IntergroupOperation::scatter, data, root), options);
    }

    /// In the other group: this rank's block. At the root: where the blocks of all ranks of the other group go, in their order.
    void gather(BytePointer data, std::uint64_t bytes, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(rooted(detail::IntergroupOperation::gather, data.get(), data.get(), bytes, root), options);
    }
    template <Readable D = std::span<std::byte>>
    void gather(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(rooted_range(detail::IntergroupOperation::gather, data, root), options);
    }
    template <detail::LastingReadable D = std::span<std::byte>>
    Request start_gather(D&& data, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(rooted_range(detail::IntergroupOperation::gather, data, root), options);
    }

    /// In the other group: the elements that this rank brings. At the root: where what they make goes, as many. They are combined in rank
    /// order. `function` as in Communicator::reduce(). All ranks give elements of one type, those without a part in it, too.
    template <Readable D>
    void reduce(D&& data, const auto& function, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        call(reduced_range(data, function, root), options);
    }
    template <detail::LastingReadable D>
    Request start_reduce(D&& data, const auto& function, IntergroupRoot root, const CollectiveOptions& options = {}) const {
        return start(reduced_range(data, function, root), options);
    }

    /// Each rank gets what the elements of the other group's ranks make, combined in rank order. All ranks of both groups bring as many.
    template <Readable C, detail::WritableResultOf<C> D>
    void allreduce(C&& contribution, D&& result, const auto& function, const CollectiveOptions& options = {}) const {
        call(reduced(contribution, result, function), options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D>
    Request start_allreduce(C&& contribution, D&& result, const auto& function, const CollectiveOptions& options = {}) const {
        return start(reduced(contribution, result, function), options);
    }

    /// Each rank gets the blocks of all ranks of the other group, in their order. `block` is this rank's own. The blocks of a group have
    /// one size; those of the two groups may differ, and may be empty. (Kang, Träff et al., "Scalable algorithms for MPI intergroup
    /// allgather and allgatherv".) `all_bytes` is of all of them together: remote_size() times a block, else Error{invalid_argument}.
    void allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer all, std::uint64_t all_bytes,
                   const CollectiveOptions& options = {}) const {
        call({detail::IntergroupOperation::allgather, block.get(), all.get(), bytes, all_bytes}, options);
    }
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& all, const CollectiveOptions& options = {}) const {
        call(exchanged<D>(detail::IntergroupOperation::allgather, block, all), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& all, const CollectiveOptions& options = {}) const {
        return start(exchanged<D>(detail::IntergroupOperation::allgather, block, all), options);
    }
    /// Blocks of own sizes: `blocks` says where the block of each rank of the other group goes in `all`. Every rank gives the sizes that
    /// the ranks of the other group have: else Error{mismatch} on all.
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& all, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        const Blocks placed = detail::among(blocks, detail::elements_of(all));
        auto call_of_blocks = exchanged<D>(detail::IntergroupOperation::allgather, block, all);
        call_of_blocks.blocks = &placed;
        call(call_of_blocks, options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& all, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        const Blocks placed = detail::among(blocks, detail::elements_of(all));
        auto call_of_blocks = exchanged<D>(detail::IntergroupOperation::allgather, block, all);
        call_of_blocks.blocks = &placed;
        return start(call_of_blocks, options);
    }

    /// `blocks` has a block for each rank of the other group, `all` gets one of each, in their order. Sizes as with allgather.
    void alltoall(ConstBytePointer blocks, std::uint64_t bytes, BytePointer all, std::uint64_t all_bytes,
                  const CollectiveOptions& options = {}) const {
        call({detail::IntergroupOperation::alltoall, blocks.get(), all.get(), bytes, all_bytes}, options);
    }
    template <Readable B, detail::WritableResultOf<B> D>
    void alltoall(B&& blocks, D&& all, const CollectiveOptions& options = {}) const {
        call(exchanged<D>(detail::IntergroupOperation::alltoall, blocks, all), options);
    }
    template <detail::LastingReadable B, detail::WritableResultOf<B> D>
    Request start_alltoall(B&& blocks, D&& all, const CollectiveOptions& options = {}) const {
        return start(exchanged<D>(detail::IntergroupOperation::alltoall, blocks, all), options);
    }

  private:
    friend class Communicator;
    struct Implementation;
    explicit Intercommunicator(std::shared_ptr<Implementation> implementation) noexcept;
    const Implementation& checked() const;
    const Communicator& both() const;
    /// The rank that one of the other group has in both().
    int remote(int rank, const char* function) const;

    static detail::IntergroupCall rooted(detail::IntergroupOperation operation, const void* read, void* written, std::uint64_t bytes,
                                         IntergroupRoot root) {
        return {operation, read, written, bytes, bytes, root};
    }
    template <class D>
    static detail::IntergroupCall rooted_range(detail::IntergroupOperation operation, D& data, IntergroupRoot root) {
        const auto elements = detail::elements_of(data);
        void* written = nullptr;
        if constexpr (!std::is_const_v<typename decltype(elements)::element_type>) written = detail::memory(elements);
        auto made = rooted(operation, detail::memory(elements), written, elements.size_bytes(), root);
        made.element_bytes = sizeof(detail::Element<D>);
        return made;
    }
    template <class D>
    static detail::IntergroupCall reduced_range(D& data, const auto& function, IntergroupRoot root) {
        auto made = rooted_range(detail::IntergroupOperation::reduce, data, root);
        made.reduction = reduction_of<detail::Element<D>>(function);
        return made;
    }
    static detail::IntergroupCall reduced(auto& contribution, auto& result, const auto& function) {
        const auto own = detail::elements_of(contribution);
        const auto all = detail::elements_of(result);
        detail::IntergroupCall made{detail::IntergroupOperation::allreduce, detail::memory(own), detail::memory(all), own.size_bytes(),
                                    all.size_bytes()};
        made.reduction = reduction_of<typename decltype(all)::element_type>(function);
        return made;
    }
    template <class D>
    static detail::IntergroupCall exchanged(detail::IntergroupOperation operation, auto& own, auto& other) {
        const auto blocks = detail::block_of<D>(own);
        const auto all = detail::elements_of(other);
        detail::IntergroupCall made{operation, detail::memory(blocks), detail::memory(all), blocks.size_bytes(), all.size_bytes()};
        made.element_bytes = sizeof(detail::Element<D>);
        return made;
    }
    void call(const detail::IntergroupCall& call, const CollectiveOptions& options) const;
    Request start(const detail::IntergroupCall& call, const CollectiveOptions& options) const;

    std::shared_ptr<Implementation> implementation_;
};

}  // namespace rollcall
