/// \file
/// How two buffers are combined into one: a function and its state, small enough to be passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rollcall::inline foundation {

struct Combiner {
    /// into[i] = left[i] combined with right[i]. `into` may be the same buffer as either operand. Elements need no alignment.
    using Function = void (*)(const void* state, void* into, const void* left, const void* right, std::uint64_t count);

    Function function = nullptr;  ///< Null: nothing is combined.
    alignas(8) std::byte state[16] = {};
    std::uint32_t element_bytes = 1;
    bool is_commutative = true;
    /// Whether operands may be combined in the order in which they come. The function is commutative, and either the order does not change
    /// any bit of the result, or the caller accepts that it does.
    bool any_order = true;
    /// The program has brought the function, so no other process and no call without its caller knows it.
    bool is_of_program = false;

    /// Sizes are in bytes. Null buffers are phantoms, which are not touched.
    void operator()(void* into, const void* left, const void* right, std::uint64_t bytes) const {
        if (into && left && right) function(state, into, left, right, bytes / element_bytes);
    }
    /// This many bytes, rounded down to whole elements, but at least one element.
    std::uint64_t whole_elements(std::uint64_t bytes) const noexcept {
        return bytes < element_bytes ? element_bytes : bytes - bytes % element_bytes;
    }
};

}  // namespace rollcall::inline foundation
