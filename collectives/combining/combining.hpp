/// \file
/// Common parts of the algorithms that combine elements.
#pragma once

#include <optional>

#include "collectives/blocks/blocks.hpp"
#include "collectives/blocks/members.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::collectives {

/// Combines the contributions of all ranks, up a binomial tree, into `data` of rank `top`. Operands stay in rank
/// order if `top` is 0. A rank takes its children in the order of their distance. Ranks other than `top` combine in `data`, too, if it has
/// room for a contribution. If it has room for two, no other memory is needed. Uses one step.
Task combine_up_tree(Operation& op, int top, transport::Bytes data, std::uint64_t step);
/// The same among the given members, into `data` of member 0.
Task combine_up_tree(Operation& op, const Members& members, int member, transport::Bytes data, std::uint64_t step);

/// One rank's share of the elements: whole elements, as many as in any other share, or one more. In bytes.
struct Share {
    std::uint64_t begin, end;
    std::uint64_t size() const { return end - begin; }
};
inline Share share_of(const Operation& op, int number, int shares) {
    const std::uint64_t element = op.arguments().combiner.element_bytes, elements = op.arguments().contribution.size / element;
    const auto n = static_cast<std::uint64_t>(shares), i = static_cast<std::uint64_t>(number);
    const auto bound = [&](std::uint64_t k) { return (elements / n * k + std::min(k, elements % n)) * element; };
    return {bound(i), bound(i + 1)};
}
inline Share share_of(const Operation& op, int rank) { return share_of(op, rank, op.size()); }
/// The part of `all` that this share covers.
template <class Bytes>
Bytes part_of(Bytes all, const Share& share) {
    return runtime::slice(all, share.begin, share.size());
}
/// The shares of 0 to `shares` - 1, as consecutive parts of the elements.
Parts even_parts(const Operation& op, int shares);
/// The parts `first` to `last` of `all`.
template <class Bytes>
Bytes parts_of(Bytes all, const Parts& parts, int first, int last) {
    const Range range = parts.from_to(first, last);
    return runtime::slice(all, range.begin, range.size());
}

/// Memory for combining operands one after the other in rank order, beginning with rank 0. The result goes into `data`. If the contribution
/// stands in `data` and this is not rank 0, intermediate results go into other memory until the last step.
class InRankOrder {
  public:
    explicit InRankOrder(Operation& op);
    /// Where the operand of rank 0 goes.
    transport::Bytes first() const { return into_; }
    /// Where the combination with the operand of this rank goes.
    transport::Bytes into(int rank) const { return rank + 1 == op_.size() ? op_.arguments().data : into_; }
    /// What has been combined so far.
    transport::ConstBytes left() const { return into_; }

  private:
    Operation& op_;
    std::optional<Scratch> scratch_;
    transport::Bytes into_;
};

}  // namespace rollcall::collectives
