#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

Task copy_runs(Operation& op, std::uint64_t bytes, std::span<const int> ranks, transport::Bytes in_list_order,
               transport::Bytes in_rank_order, Copy way) {
    for (std::size_t at = 0; at < ranks.size();) {
        const std::size_t run = consecutive(ranks.subspan(at));
        const auto listed = blocks_of(in_list_order, bytes, at, run);
        const auto ranked = blocks_of(in_rank_order, bytes, static_cast<std::size_t>(ranks[at]), run);
        const bool into_list = way == Copy::into_list;
        co_await op.copy(into_list ? listed : ranked, into_list ? ranked : listed);
        at += run;
    }
}

}  // namespace rollcall::collectives
