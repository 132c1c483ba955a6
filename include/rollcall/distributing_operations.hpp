/// \file
/// The collective operations of a communicator in which the root has a block for each rank: scatter and gather.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rollcall/export.h>
#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/request.hpp>

namespace rollcall {

class Communicator;

/// The part of Communicator (communicator.hpp) that has scatter and gather. The rules there for data, forms (x(), start_x(), plan_x()),
/// threads, deadlines and errors hold here.
class ROLLCALL_EXPORT DistributingOperations {
  public:
    /// \{
    /// Sends each rank its block of the root's data: block r goes to rank r. Each block has `bytes` bytes, which may be 0. At the root
    /// `data` has size() blocks in rank order; on other ranks it is not looked at. `block` is where this rank's block goes; at the root it
    /// may be the block's place in `data`. All ranks give the same size and root. The call returns on a rank when its part is done.
    void scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root,
                          const CollectiveOptions& options = {}) const;
    Plan plan_scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Scatter with ranges. `block` is one element or a range of elements, and its length is the size of a block. At the root `data` must
    /// have as many elements as all blocks together, else Error{invalid_argument}. On other ranks `data` is not looked at and may be {}.
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
    /// \}

    /// \{
    /// Scatter with blocks of different sizes (MPI_Scatterv). At the root `blocks` says where the block of each rank is in `data`; the
    /// other ranks pass Blocks(). `block` is where this rank's block goes, and its length must be what the root counts for this rank, else
    /// Error{mismatch} on all ranks, in this call or the next one (Blocks). The root throws Error{invalid_argument} if `blocks` does not
    /// have one number for each rank, has a negative number, describes a block outside `data`, or gives the root's own block another size.
    /// All ranks must call this form, because the choice of algorithm depends on it. See Blocks (blocks.hpp).
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
    /// \}

    /// \{
    /// Collects the blocks of all ranks at the root, in rank order. Each block has `bytes` bytes, which may be 0. `block` is this rank's
    /// block; at the root it may be the block's place in `data`. `data` is written at the root, where it has room for size() blocks; on
    /// other ranks it is not looked at. All ranks give the same size and root. The call returns on a rank when its part is done.
    void gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root, const CollectiveOptions& options = {}) const;
    Request start_gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root,
                         const CollectiveOptions& options = {}) const;
    Plan plan_gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root, const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Gather with ranges. `block` is one element or a range of elements, and its length is the size of a block. At the root `data` must
    /// have as many elements as all blocks together, else Error{invalid_argument}. On other ranks `data` is not looked at and may be {}.
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
    /// \}

    /// \{
    /// Gather with blocks of different sizes (MPI_Gatherv). At the root `blocks` says where the block of each rank goes in `data`; the
    /// other ranks pass Blocks(). The blocks must not overlap in `data`, and what lies between them stays as it was. `block` is this rank's
    /// block, of the size that the root counts for it, else Error{mismatch} on all ranks, in this call or the next one. The root throws
    /// Error{invalid_argument} for the same reasons as in scatter() with Blocks. All ranks must call this form, because the choice of
    /// algorithm depends on it. See Blocks (blocks.hpp).
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
    /// \}

  protected:
    // A copy of this part alone would be no communicator.
    DistributingOperations(const DistributingOperations&) = default;             ///< For communicators.
    DistributingOperations& operator=(const DistributingOperations&) = default;  ///< For communicators.

  private:
    friend class Communicator;
    DistributingOperations() = default;
    const Communicator& communicator() const noexcept;
    void check_blocks(std::size_t all, std::size_t one, int root, const char* operation) const;
};

}  // namespace rollcall
