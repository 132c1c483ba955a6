#include "collectives/reductions/reductions.hpp"

#include <cstring>

#include "collectives/reductions/kernels.hpp"
#include "foundation/reductions.hpp"

namespace rollcall::collectives {
namespace {

/// Whether the result is the same to the last bit in any order. That holds for all operators but sums and products of numbers that are
/// rounded.
bool is_exact(Operator operation, ElementType type) {
    return type <= ElementType::uint64 || (operation != Operator::sum && operation != Operator::product);
}

}  // namespace

Combiner combiner_of(const Reduction& reduction) noexcept {
    Combiner combiner;
    combiner.element_bytes = reduction.element_bytes;
    if (reduction.operation == Operator::function) {
        combiner.function = reduction.combine;
        std::memcpy(combiner.state, reduction.state, sizeof combiner.state);
        combiner.is_commutative = reduction.is_commutative;
        combiner.any_order = reduction.is_commutative && !reduction.by_rank;
        combiner.is_of_program = true;
    } else {
        combiner.function = kernel_of(reduction.operation, reduction.type);
        combiner.any_order = !reduction.by_rank || is_exact(reduction.operation, reduction.type);
    }
    return combiner;
}

Combiner combiner_of(std::uint16_t number) noexcept {
    const Reduction reduction = reduction_of_number(number);
    return number && reduction.operation < Operator::function ? combiner_of(reduction) : Combiner();
}

}  // namespace rollcall::collectives
