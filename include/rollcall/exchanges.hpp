/// \file
/// The operations of a Communicator in which all ranks have something for all: allgather and alltoall.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rollcall/export.h>
#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/request.hpp>

namespace rollcall {

class Communicator;

/// A part of Communicator, which says all that holds for its operations. Each has three forms: the call, start_ (a request), and plan_ (an
/// operation that is repeated, see Plan; collective).
class ROLLCALL_EXPORT Exchanges {
  public:
    /// Collects the blocks of all ranks, of `bytes` bytes each, at all ranks, in rank order (MPI_Allgather). `block` is this rank's block,
    /// and may be its place in `data`. Any size (0 too). Returns when this rank has all blocks, and its own has left.
    void allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Request start_allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Plan plan_allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const PlanOptions& options = {}) const;
    /// The same with ranges: `block` is one element or a range of elements, and says the size of a block; `data` must have as many elements
    /// as all blocks together, else Error{invalid_argument}.
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& data, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_all(all.size(), one.size(), "allgather");
        allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& data, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_all(all.size(), one.size(), "start_allgather");
        return start_allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Plan plan_allgather(B&& block, D&& data, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_all(all.size(), one.size(), "plan_allgather");
        return plan_allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    /// In place: each rank's block stands where it belongs in `data`. A block is the n-th part of the elements; Error{invalid_argument}
    /// when they are no multiple of the number of ranks.
    template <Writable D>
    void allgather(D&& data, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = all.subspan(own_part(all.size(), "allgather"), share(all.size()));
        allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    template <Writable D>
    Request start_allgather(D&& data, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = all.subspan(own_part(all.size(), "start_allgather"), share(all.size()));
        return start_allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    template <Writable D>
    Plan plan_allgather(D&& data, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = all.subspan(own_part(all.size(), "plan_allgather"), share(all.size()));
        return plan_allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }

    /// Blocks of own sizes (MPI_Allgatherv): `blocks` says on all ranks where each block goes in `data`. There they must not overlap; what
    /// is between them stays as it was. All ranks give the same counts: else Error{mismatch} on all of them, which names two that differ,
    /// and whose block it is that they count differently, where it is one alone. Offsets are each rank's own. Error{invalid_argument} when
    /// the numbers are not as many as ranks, negative, or lead out of `data`, or when the own block has another size. All ranks must call
    /// this form: which algorithm runs depends on it.
    void allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks,
                   const CollectiveOptions& options = {}) const;
    Request start_allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks,
                            const CollectiveOptions& options = {}) const;
    Plan plan_allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks,
                        const PlanOptions& options = {}) const;
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& data, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        allgather(detail::memory(one), one.size_bytes(), detail::memory(all), detail::among(blocks, all), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& data, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        return start_allgather(detail::memory(one), one.size_bytes(), detail::memory(all), detail::among(blocks, all), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Plan plan_allgather(B&& block, D&& data, const Blocks& blocks, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        return plan_allgather(detail::memory(one), one.size_bytes(), detail::memory(all), detail::among(blocks, all), options);
    }
    /// In place: each rank's block stands where `blocks` says.
    template <Writable D>
    void allgather(D&& data, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        allgather_in_place(detail::memory(all), detail::among(blocks, all), options);
    }
    template <Writable D>
    Request start_allgather(D&& data, const Blocks& blocks, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        return start_allgather_in_place(detail::memory(all), detail::among(blocks, all), options);
    }
    template <Writable D>
    Plan plan_allgather(D&& data, const Blocks& blocks, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        return plan_allgather_in_place(detail::memory(all), detail::among(blocks, all), options);
    }

    /// Each rank has a block for each (MPI_Alltoall): block r of `data`, of `bytes` bytes, goes to rank r, and becomes block s of its
    /// `result` where it comes from rank s. The two must not overlap (Error{invalid_argument} where they begin at the same place). Any size
    /// (0 too). Returns when this rank has all its blocks, and those for others have left.
    void alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Request start_alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Plan plan_alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const PlanOptions& options = {}) const;
    /// The same with ranges: a block is the n-th part of the elements. Error{invalid_argument} when they are no multiple of the number of
    /// ranks, or when `result` has not as many.
    template <Readable D, detail::WritableResultOf<D> R>
    void alltoall(D&& data, R&& result, const CollectiveOptions& options = {}) const {
        const auto from = detail::elements_of(data);
        const auto into = detail::elements_of(result);
        const std::size_t one = block_of_both(from.size(), into.size(), "alltoall");
        alltoall(detail::memory(from), detail::memory(into), one * sizeof(detail::Element<D>), options);
    }
    template <detail::LastingReadable D, detail::WritableResultOf<D> R>
    Request start_alltoall(D&& data, R&& result, const CollectiveOptions& options = {}) const {
        const auto from = detail::elements_of(data);
        const auto into = detail::elements_of(result);
        const std::size_t one = block_of_both(from.size(), into.size(), "start_alltoall");
        return start_alltoall(detail::memory(from), detail::memory(into), one * sizeof(detail::Element<D>), options);
    }
    template <detail::LastingReadable D, detail::WritableResultOf<D> R>
    Plan plan_alltoall(D&& data, R&& result, const PlanOptions& options = {}) const {
        const auto from = detail::elements_of(data);
        const auto into = detail::elements_of(result);
        const std::size_t one = block_of_both(from.size(), into.size(), "plan_alltoall");
        return plan_alltoall(detail::memory(from), detail::memory(into), one * sizeof(detail::Element<D>), options);
    }

    /// Blocks of own sizes (MPI_Alltoallv): `to_send` says where the block for each rank is in `data`, `to_receive` where that of each rank
    /// goes in `result`. What is written must not overlap. A rank that counts for another one what that one does not send is told so, with
    /// all ranks: Error{mismatch}. Error{invalid_argument} as for allgather(), and when the own block has two sizes.
    void alltoall(ConstBytePointer data, const Blocks& to_send, BytePointer result, const Blocks& to_receive,
                  const CollectiveOptions& options = {}) const;
    Request start_alltoall(ConstBytePointer data, const Blocks& to_send, BytePointer result, const Blocks& to_receive,
                           const CollectiveOptions& options = {}) const;
    Plan plan_alltoall(ConstBytePointer data, const Blocks& to_send, BytePointer result, const Blocks& to_receive,
                       const PlanOptions& options = {}) const;
    template <Readable D, detail::WritableResultOf<D> R>
    void alltoall(D&& data, const Blocks& to_send, R&& result, const Blocks& to_receive, const CollectiveOptions& options = {}) const {
        const auto from = detail::elements_of(data);
        const auto into = detail::elements_of(result);
        alltoall(detail::memory(from), detail::among(to_send, from), detail::memory(into), detail::among(to_receive, into), options);
    }
    template <detail::LastingReadable D, detail::WritableResultOf<D> R>
    Request start_alltoall(D&& data, const Blocks& to_send, R&& result, const Blocks& to_receive,
                           const CollectiveOptions& options = {}) const {
        const auto from = detail::elements_of(data);
        const auto into = detail::elements_of(result);
        return start_alltoall(detail::memory(from), detail::among(to_send, from), detail::memory(into), detail::among(to_receive, into),
                              options);
    }
    template <detail::LastingReadable D, detail::WritableResultOf<D> R>
    Plan plan_alltoall(D&& data, const Blocks& to_send, R&& result, const Blocks& to_receive, const PlanOptions& options = {}) const {
        const auto from = detail::elements_of(data);
        const auto into = detail::elements_of(result);
        return plan_alltoall(detail::memory(from), detail::among(to_send, from), detail::memory(into), detail::among(to_receive, into),
                             options);
    }

  private:
    friend class Communicator;
    Exchanges() = default;
    const Communicator& whole() const noexcept;

    void check_all(std::size_t all, std::size_t one, const char* operation) const;
    std::size_t block_of_both(std::size_t data, std::size_t result, const char* operation) const;
    /// Of so many elements, how many are a rank's; and where those of this one begin.
    std::size_t share(std::size_t all) const;
    std::size_t own_part(std::size_t all, const char* operation) const;
    void allgather_in_place(void* data, const Blocks& blocks, const CollectiveOptions& options) const;
    Request start_allgather_in_place(void* data, const Blocks& blocks, const CollectiveOptions& options) const;
    Plan plan_allgather_in_place(void* data, const Blocks& blocks, const PlanOptions& options) const;
};

}  // namespace rollcall
