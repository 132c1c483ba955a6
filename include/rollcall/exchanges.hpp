/// \file
/// The collective operations of a communicator in which every rank sends data to every rank: allgather and alltoall.
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

/// The part of Communicator (communicator.hpp) that has allgather and alltoall. The rules there for data, forms (x(), start_x(), plan_x()),
/// threads, deadlines and errors hold here. In the forms without Blocks all ranks give the same size, else Error{mismatch}. It may be 0.
class ROLLCALL_EXPORT Exchanges {
  public:
    /// \{
    /// Collects the blocks of all ranks on all ranks, in rank order (MPI_Allgather). Each block has `bytes` bytes. `block` is this rank's
    /// block, and may be its place in `data`. `data` has room for size() blocks. The call returns when this rank has all blocks and its own
    /// block has left.
    void allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Request start_allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Plan plan_allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Allgather with ranges. `block` is one element or a range of elements, and its length is the size of a block. `data` must have as
    /// many elements as all blocks together, else Error{invalid_argument}.
    template <Readable B, detail::WritableDataOf<B> D>
    void allgather(B&& block, D&& data, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), "allgather");
        allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Request start_allgather(B&& block, D&& data, const CollectiveOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), "start_allgather");
        return start_allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    template <detail::LastingReadable B, detail::WritableDataOf<B> D>
    Plan plan_allgather(B&& block, D&& data, const PlanOptions& options = {}) const {
        const auto all = detail::elements_of(data);
        const auto one = detail::block_of<D>(block);
        check_blocks(all.size(), one.size(), "plan_allgather");
        return plan_allgather(detail::memory(one), detail::memory(all), one.size_bytes(), options);
    }
    /// \}
    /// \{
    /// Allgather in place: each rank's block already lies at its place in `data`. The elements of `data` are divided into size() equal
    /// blocks. Throws Error{invalid_argument} if their number is not a multiple of size().
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
    /// \}

    /// \{
    /// Allgather with blocks of different sizes (MPI_Allgatherv). On each rank `blocks` says where the block of every rank goes in `data`.
    /// The blocks must not overlap there, and what lies between them stays as it was. `block` is this rank's block, and may be its place in
    /// `data`. All ranks must call this form, because the choice of algorithm depends on it. They must give the same counts; their offsets
    /// may differ. See Blocks (blocks.hpp).
    ///
    /// Throws Error{mismatch} on all ranks if counts differ. It names two ranks that differ and, if they differ in one block only, the rank
    /// whose block that is. Throws Error{invalid_argument} if `blocks` does not have one number for each rank, has a negative number,
    /// describes a block outside `data`, or gives this rank's block another size than it has.
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
    /// \}
    /// \{
    /// Allgather in place with blocks of different sizes: each rank's block already lies in `data` where `blocks` says.
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
    /// \}

    /// \{
    /// Sends a block from each rank to each rank (MPI_Alltoall). Block r of `data` on rank s becomes block s of `result` on rank r. Each
    /// block has `bytes` bytes, and both buffers have size() blocks. They must not overlap; Error{invalid_argument} if they begin at the
    /// same address. The call returns when this rank has all its blocks and the blocks for other ranks have left.
    void alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Request start_alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const CollectiveOptions& options = {}) const;
    Plan plan_alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Alltoall with ranges. The elements of `data` are divided into size() equal blocks. Throws Error{invalid_argument} if their number is
    /// not a multiple of size(), or if `result` has another number of elements.
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
    /// \}

    /// \{
    /// Alltoall with blocks of different sizes (MPI_Alltoallv). `to_send` says where the block for each rank is in `data`; `to_receive`
    /// says where the block from each rank goes in `result`. Blocks must not overlap in `result`. All ranks must call this form. If a rank
    /// expects another size from a rank than that rank sends, all ranks get Error{mismatch}, in this call or the next one (Blocks). Throws
    /// Error{invalid_argument} as allgather() with Blocks does, and if the two lists give this rank's block to itself different sizes.
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
    /// \}

  protected:
    // A copy of this part alone would be no communicator.
    Exchanges(const Exchanges&) = default;             ///< For communicators.
    Exchanges& operator=(const Exchanges&) = default;  ///< For communicators.

  private:
    friend class Communicator;
    Exchanges() = default;
    const Communicator& communicator() const noexcept;

    void check_blocks(std::size_t all, std::size_t one, const char* operation) const;
    std::size_t block_of_both(std::size_t data, std::size_t result, const char* operation) const;
    /// The number of elements in a rank's block, of `all` elements; and the first element of this rank's block.
    std::size_t share(std::size_t all) const;
    std::size_t own_part(std::size_t all, const char* operation) const;
    void allgather_in_place(void* data, const Blocks& blocks, const CollectiveOptions& options) const;
    Request start_allgather_in_place(void* data, const Blocks& blocks, const CollectiveOptions& options) const;
    Plan plan_allgather_in_place(void* data, const Blocks& blocks, const PlanOptions& options) const;
};

}  // namespace rollcall
