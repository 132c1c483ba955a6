/// \file
/// The collective operations of a communicator that combine elements of several ranks (sums, minima, ...): reduce, allreduce,
/// reduce_scatter, scan and exclusive_scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rollcall/export.h>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/reduction.hpp>
#include <rollcall/request.hpp>

namespace rollcall {

class Communicator;

/// The part of Communicator (communicator.hpp) that combines elements. The rules there for data, forms (x(), start_x(), plan_x()), threads,
/// deadlines and errors hold here.
///
/// Each form takes either addresses, a number of elements (`count`) and a Reduction; or ranges or objects, and an operator or a function
/// (reduction.hpp). Element i of the result is made of the elements i that the ranks bring. All ranks give the same count and the same
/// reduction, else Error{mismatch}. Different functions of the program are not found if their elements have the same size and both commute
/// or both do not (Reduction). A reduction that does not commute is combined in rank order. A call returns on a rank when its part is
/// done. Throws Error{invalid_argument} if the Reduction is not a valid one, for example a bitwise operator for floats.
class ROLLCALL_EXPORT ReducingOperations {
  public:
    /// \{
    /// Combines the elements of all ranks at the root (MPI_Reduce). Each rank brings `count` elements of reduction.element_bytes bytes
    /// each. `result` is written at the root, where it may be the same address as `contribution`; on other ranks it is not looked at.
    void reduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction, int root,
                const CollectiveOptions& options = {}) const;
    Request start_reduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction, int root,
                         const CollectiveOptions& options = {}) const;
    Plan plan_reduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction, int root,
                     const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Reduce with ranges. At the root `result` must have as many elements as `contribution`, else Error{invalid_argument}. On other ranks
    /// it is not looked at and may be {}.
    template <Readable C, Reduces<detail::Element<C>> F, detail::WritableResultOf<C> D = std::span<detail::Element<C>>>
    void reduce(C&& contribution, D&& result, const F& function, int root, const CollectiveOptions& options = {}) const {
        const auto own = detail::elements_of(contribution);
        const auto all = detail::elements_of(result);
        check_result(all.size(), own.size(), root, "reduce");
        return reduce(detail::memory(own), detail::memory(all), own.size(), reduction_of<detail::Element<C>>(function), root, options);
    }
    template <detail::LastingReadable C, Reduces<detail::Element<C>> F, detail::WritableResultOf<C> D = std::span<detail::Element<C>>>
    Request start_reduce(C&& contribution, D&& result, const F& function, int root, const CollectiveOptions& options = {}) const {
        const auto own = detail::elements_of(contribution);
        const auto all = detail::elements_of(result);
        check_result(all.size(), own.size(), root, "start_reduce");
        return start_reduce(detail::memory(own), detail::memory(all), own.size(), reduction_of<detail::Element<C>>(function), root,
                            options);
    }
    template <detail::LastingReadable C, Reduces<detail::Element<C>> F, detail::WritableResultOf<C> D = std::span<detail::Element<C>>>
    Plan plan_reduce(C&& contribution, D&& result, const F& function, int root, const PlanOptions& options = {}) const {
        const auto own = detail::elements_of(contribution);
        const auto all = detail::elements_of(result);
        check_result(all.size(), own.size(), root, "plan_reduce");
        return plan_reduce(detail::memory(own), detail::memory(all), own.size(), reduction_of<detail::Element<C>>(function), root, options);
    }
    /// \}

    /// \{
    /// Combines the elements of all ranks and gives the result to all ranks (MPI_Allreduce). It has the same bits on every rank; only if
    /// a sum or a product is NaN, the sign and the payload of that NaN may differ. Each rank brings `count` elements of
    /// reduction.element_bytes bytes each. `result` may be the same address as `contribution`.
    void allreduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                   const CollectiveOptions& options = {}) const;
    Request start_allreduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                            const CollectiveOptions& options = {}) const;
    Plan plan_allreduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                        const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Allreduce with ranges. `result` must have as many elements as `contribution`, else Error{invalid_argument}.
    template <Readable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    void allreduce(C&& contribution, D&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine<void>(&ReducingOperations::allreduce, "allreduce", contribution, result, function, options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    Request start_allreduce(C&& contribution, D&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine<Request>(&ReducingOperations::start_allreduce, "start_allreduce", contribution, result, function, options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    Plan plan_allreduce(C&& contribution, D&& result, const F& function, const PlanOptions& options = {}) const {
        return combine<Plan>(&ReducingOperations::plan_allreduce, "plan_allreduce", contribution, result, function, options);
    }
    /// \}
    /// \{
    /// Allreduce in place: the result overwrites what this rank brings.
    template <Writable D, Reduces<detail::Element<D>> F>
    void allreduce(D&& data, const F& function, const CollectiveOptions& options = {}) const {
        return allreduce(data, data, function, options);
    }
    template <Writable D, Reduces<detail::Element<D>> F>
    Request start_allreduce(D&& data, const F& function, const CollectiveOptions& options = {}) const {
        return start_allreduce(data, data, function, options);
    }
    template <Writable D, Reduces<detail::Element<D>> F>
    Plan plan_allreduce(D&& data, const F& function, const PlanOptions& options = {}) const {
        return plan_allreduce(data, data, function, options);
    }
    /// \}

    /// \{
    /// Combines the elements of all ranks and gives each rank one block of the result: block r goes to rank r (MPI_Reduce_scatter_block).
    /// Each block has `count` elements. `contribution` has size() blocks in rank order. `result` is where this rank's block goes. It may
    /// be its place in `contribution`, and must not overlap that otherwise, else Error{invalid_argument}.
    void reduce_scatter(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                        const CollectiveOptions& options = {}) const;
    Request start_reduce_scatter(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                 const CollectiveOptions& options = {}) const;
    Plan plan_reduce_scatter(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                             const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Reduce_scatter with ranges. `result` is one element or a range of elements, and its length is the size of a block. `contribution`
    /// must have as many elements as all blocks together, else Error{invalid_argument}.
    template <Writable B, detail::DataOf<B> C, Reduces<detail::Element<C>> F>
    void reduce_scatter(C&& contribution, B&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine_blocks<void>(&ReducingOperations::reduce_scatter, "reduce_scatter", contribution, result, function, options);
    }
    template <Writable B, detail::LastingDataOf<B> C, Reduces<detail::Element<C>> F>
    Request start_reduce_scatter(C&& contribution, B&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine_blocks<Request>(&ReducingOperations::start_reduce_scatter, "start_reduce_scatter", contribution, result, function,
                                       options);
    }
    template <Writable B, detail::LastingDataOf<B> C, Reduces<detail::Element<C>> F>
    Plan plan_reduce_scatter(C&& contribution, B&& result, const F& function, const PlanOptions& options = {}) const {
        return combine_blocks<Plan>(&ReducingOperations::plan_reduce_scatter, "plan_reduce_scatter", contribution, result, function,
                                    options);
    }
    /// \}

    /// \{
    /// Combines the elements of all ranks up to this one, in rank order: rank r gets the combination of ranks 0 to r (MPI_Scan). Each rank
    /// brings `count` elements. `result` may be the same address as `contribution`. A rank waits only for the ranks before it.
    void scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
              const CollectiveOptions& options = {}) const;
    Request start_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                       const CollectiveOptions& options = {}) const;
    Plan plan_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                   const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Scan with ranges. `result` must have as many elements as `contribution`, else Error{invalid_argument}.
    template <Readable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    void scan(C&& contribution, D&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine<void>(&ReducingOperations::scan, "scan", contribution, result, function, options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    Request start_scan(C&& contribution, D&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine<Request>(&ReducingOperations::start_scan, "start_scan", contribution, result, function, options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    Plan plan_scan(C&& contribution, D&& result, const F& function, const PlanOptions& options = {}) const {
        return combine<Plan>(&ReducingOperations::plan_scan, "plan_scan", contribution, result, function, options);
    }
    /// \}
    /// \{
    /// Scan in place: the result overwrites what this rank brings.
    template <Writable D, Reduces<detail::Element<D>> F>
    void scan(D&& data, const F& function, const CollectiveOptions& options = {}) const {
        return scan(data, data, function, options);
    }
    template <Writable D, Reduces<detail::Element<D>> F>
    Request start_scan(D&& data, const F& function, const CollectiveOptions& options = {}) const {
        return start_scan(data, data, function, options);
    }
    template <Writable D, Reduces<detail::Element<D>> F>
    Plan plan_scan(D&& data, const F& function, const PlanOptions& options = {}) const {
        return plan_scan(data, data, function, options);
    }
    /// \}

    /// \{
    /// Combines the elements of all ranks before this one, in rank order: rank r gets the combination of ranks 0 to r - 1 (MPI_Exscan).
    /// Each rank brings `count` elements. No rank comes before rank 0, so its `result` stays as it was; in place that is what rank 0
    /// brings. `result` may be the same address as `contribution`. A rank waits only for the ranks before it.
    void exclusive_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                        const CollectiveOptions& options = {}) const;
    Request start_exclusive_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                 const CollectiveOptions& options = {}) const;
    Plan plan_exclusive_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                             const PlanOptions& options = {}) const;
    /// \}
    /// \{
    /// Exclusive scan with ranges. `result` must have as many elements as `contribution`, else Error{invalid_argument}.
    template <Readable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    void exclusive_scan(C&& contribution, D&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine<void>(&ReducingOperations::exclusive_scan, "exclusive_scan", contribution, result, function, options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    Request start_exclusive_scan(C&& contribution, D&& result, const F& function, const CollectiveOptions& options = {}) const {
        return combine<Request>(&ReducingOperations::start_exclusive_scan, "start_exclusive_scan", contribution, result, function, options);
    }
    template <detail::LastingReadable C, detail::WritableResultOf<C> D, Reduces<detail::Element<C>> F>
    Plan plan_exclusive_scan(C&& contribution, D&& result, const F& function, const PlanOptions& options = {}) const {
        return combine<Plan>(&ReducingOperations::plan_exclusive_scan, "plan_exclusive_scan", contribution, result, function, options);
    }
    /// \}
    /// \{
    /// Exclusive scan in place: the result overwrites what this rank brings, except on rank 0.
    template <Writable D, Reduces<detail::Element<D>> F>
    void exclusive_scan(D&& data, const F& function, const CollectiveOptions& options = {}) const {
        return exclusive_scan(data, data, function, options);
    }
    template <Writable D, Reduces<detail::Element<D>> F>
    Request start_exclusive_scan(D&& data, const F& function, const CollectiveOptions& options = {}) const {
        return start_exclusive_scan(data, data, function, options);
    }
    template <Writable D, Reduces<detail::Element<D>> F>
    Plan plan_exclusive_scan(D&& data, const F& function, const PlanOptions& options = {}) const {
        return plan_exclusive_scan(data, data, function, options);
    }
    /// \}

  protected:
    ReducingOperations() = default;
    // A copy of this part alone would be no communicator.
    ReducingOperations(const ReducingOperations&) = default;             ///< For communicators.
    ReducingOperations& operator=(const ReducingOperations&) = default;  ///< For communicators.

  private:
    template <class R, class O>
    using Form = R (ReducingOperations::*)(ConstBytePointer, BytePointer, std::uint64_t, const Reduction&, const O&) const;

    template <class R, class C, class D, class F, class O>
    R combine(Form<R, O> form, const char* operation, C& contribution, D& result, const F& function, const O& options) const {
        const auto own = detail::elements_of(contribution);
        const auto all = detail::elements_of(result);
        check_result(all.size(), own.size(), kOnAllRanks, operation);
        return (this->*form)(detail::memory(own), detail::memory(all), own.size(), reduction_of<detail::Element<C>>(function), options);
    }
    template <class R, class C, class B, class F, class O>
    R combine_blocks(Form<R, O> form, const char* operation, C& contribution, B& result, const F& function, const O& options) const {
        const auto all = detail::elements_of(contribution);
        const auto one = detail::block_of<C>(result);
        check_blocks(all.size(), one.size(), operation);
        return (this->*form)(detail::memory(all), detail::memory(one), one.size(), reduction_of<detail::Element<C>>(function), options);
    }

    static constexpr int kOnAllRanks = -1;
    const Communicator& communicator() const noexcept;
    void check_result(std::size_t all, std::size_t own, int root, const char* operation) const;
    void check_blocks(std::size_t all, std::size_t one, const char* operation) const;
};

}  // namespace rollcall
