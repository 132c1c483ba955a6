#include "collectives/allgather/line.hpp"

namespace rollcall::collectives {

Line::Line(Operation& op, int first) : op_(op), first_(first) {
    const int n = op.size();
    if (op.arguments().blocks) {
        offsets_.push_back(0);
        for (int at = 0; at < n; ++at) offsets_.push_back(offsets_.back() + block_of(op, (first + at) % n).size);
    }
    const auto data = op.arguments().data;
    if (const auto place = begin_if_contiguous(n, [&](int at) { return place_of_block(op, (first + at) % n); })) {
        bytes_ = runtime::slice(data, *place, offset(n));
    } else {
        scratch_.emplace(offset(n), data);
        bytes_ = scratch_->bytes();
    }
}

transport::Bytes Line::blocks(int rank, int count) const {
    const int at = position(rank);
    return runtime::slice(bytes_, offset(at), offset(at + count) - offset(at));
}

Pending Line::put_own() const { return copy_own(op_, blocks(op_.rank(), 1), op_.arguments().contribution); }

Task put_out(Operation& op, const Line& line) {
    if (line.is_in_data()) co_return;
    const int n = op.size(), first = line.first();
    if (op.arguments().blocks) {
        for (int rank = 0; rank < n; ++rank)
            if (const auto block = block_of(op, rank); block.size > 0) co_await op.copy(block, line.blocks(rank, 1));
        co_return;
    }
    // In the line and in the data, the blocks from the first rank on are side by side, and so are the blocks before it.
    const auto side_by_side = [&](int from, int count) {
        return blocks_of(op.arguments().data, op.call().bytes, static_cast<std::size_t>(from), static_cast<std::size_t>(count));
    };
    co_await op.copy(side_by_side(first, n - first), line.blocks(first, n - first));
    if (first > 0) co_await op.copy(side_by_side(0, first), line.blocks(0, first));
}

}  // namespace rollcall::collectives
