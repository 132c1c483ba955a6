/// \file
/// The roots of operations between two groups, and the arguments of such operations.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/reduction.hpp>

namespace rollcall {

/// The root of an operation, if it is in the group of the rank that calls. All ranks name the same root: the ranks of its group as Mine,
/// the ranks of the other group as Theirs.
struct Mine {
    int rank;  ///< Its rank in that group.
};
/// The root of an operation, if it is in the other group.
struct Theirs {
    int rank;  ///< Its rank in that group.
};

/// The root of an operation between two groups: Mine{rank} or Theirs{rank}.
class IntergroupRoot {
  public:
    /// \{
    /// The root, as Mine or Theirs names it.
    constexpr IntergroupRoot(Mine root) noexcept : rank_(root.rank), is_mine_(true) {}
    constexpr IntergroupRoot(Theirs root) noexcept : rank_(root.rank), is_mine_(false) {}
    /// \}
    /// Its rank in its group.
    constexpr int rank() const noexcept { return rank_; }
    /// True if it is in the group of the rank that calls.
    constexpr bool is_mine() const noexcept { return is_mine_; }

  private:
    int rank_;
    bool is_mine_;
};

namespace detail {

enum class IntergroupOperation : std::uint8_t { broadcast, scatter, gather, reduce, allreduce, allgather, alltoall };

struct IntergroupForms;

/// The arguments of a call. A buffer that this rank has no use for is not looked at.
struct IntergroupCall {
    IntergroupOperation operation;
    const void* own = nullptr;  ///< The buffer that is read.
    void* other = nullptr;      ///< The buffer that is written. With a root: the same as `own`, or null if that is const.
    std::uint64_t own_bytes = 0, other_bytes = 0;
    std::optional<IntergroupRoot> root = {};
    /// Blocks of different sizes. With a root: those of the root's data. Otherwise: of what is received.
    std::optional<Blocks> blocks = {};
    std::optional<Blocks> to_send = {};  ///< Alltoall of blocks of different sizes: of what is sent.
    Reduction reduction = {};
    std::uint64_t element_bytes = 1;
};

inline IntergroupCall rooted(IntergroupOperation operation, const void* read, void* written, std::uint64_t bytes, IntergroupRoot root) {
    return {operation, read, written, bytes, bytes, root};
}
template <class D>
IntergroupCall rooted_range(IntergroupOperation operation, D& data, IntergroupRoot root) {
    const auto elements = elements_of(data);
    void* written = nullptr;
    if constexpr (!std::is_const_v<typename decltype(elements)::element_type>) written = memory(elements);
    auto made = rooted(operation, memory(elements), written, elements.size_bytes(), root);
    made.element_bytes = sizeof(Element<D>);
    return made;
}
template <class D>
IntergroupCall rooted_blocks(IntergroupOperation operation, D& data, const Blocks& blocks, IntergroupRoot root) {
    auto made = rooted_range(operation, data, root);
    made.blocks = among(blocks, elements_of(data));
    return made;
}
template <class D>
IntergroupCall reduced_range(D& data, const auto& function, IntergroupRoot root) {
    auto made = rooted_range(IntergroupOperation::reduce, data, root);
    made.reduction = reduction_of<Element<D>>(function);
    return made;
}
IntergroupCall reduced(auto& contribution, auto& result, const auto& function) {
    const auto own = elements_of(contribution);
    const auto all = elements_of(result);
    IntergroupCall made{IntergroupOperation::allreduce, memory(own), memory(all), own.size_bytes(), all.size_bytes()};
    made.reduction = reduction_of<typename decltype(all)::element_type>(function);
    return made;
}
template <class D>
IntergroupCall exchanged(IntergroupOperation operation, auto& own, auto& other) {
    const auto blocks = block_of<D>(own);
    const auto all = elements_of(other);
    IntergroupCall made{operation, memory(blocks), memory(all), blocks.size_bytes(), all.size_bytes()};
    made.element_bytes = sizeof(Element<D>);
    return made;
}
template <class D>
IntergroupCall gathered_blocks(auto& block, auto& all, const Blocks& blocks) {
    auto made = exchanged<D>(IntergroupOperation::allgather, block, all);
    made.blocks = among(blocks, elements_of(all));
    return made;
}
template <class D>
IntergroupCall exchanged_blocks(auto& data, const Blocks& to_send, auto& all, const Blocks& to_receive) {
    auto made = exchanged<D>(IntergroupOperation::alltoall, data, all);
    made.to_send = among(to_send, elements_of(data));
    made.blocks = among(to_receive, elements_of(all));
    return made;
}

}  // namespace detail

}  // namespace rollcall
