/// \file
/// How two buffers become one: a function with what it is handed, small enough to go along by value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rollcall::inline foundation {

struct Combiner {
    /// into[i] = left[i] combined with right[i]; `into` may be either. Elements lie at any address.
    using Function = void (*)(const void* state, void* into, const void* left, const void* right, std::uint64_t count);

    Function function = nullptr;  ///< Null: nothing is combined.
    alignas(8) std::byte state[16] = {};
    std::uint32_t element_bytes = 1;
    bool is_commutative = true;
    /// Whether operands may be combined in the order in which they come: it commutes, and the result is the same to the last bit, or need
    /// not be.
    bool any_order = true;

    /// Sizes in bytes. Null buffers are phantoms.
    void operator()(void* into, const void* left, const void* right, std::uint64_t bytes) const {
        if (into && left && right) function(state, into, left, right, bytes / element_bytes);
    }
    /// So many bytes, rounded down to whole elements, at least one.
    std::uint64_t whole_elements(std::uint64_t bytes) const noexcept {
        return bytes < element_bytes ? element_bytes : bytes - bytes % element_bytes;
    }
};

}  // namespace rollcall::inline foundation
