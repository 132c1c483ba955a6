#include "collectives/blocks/exchange.hpp"

#include "collectives/published/published.hpp"
#include "collectives/relay.hpp"
#include "collectives/trees/binomial.hpp"
#include "foundation/copy.hpp"

namespace rollcall::collectives {
namespace {

Task exchange_by_messages(Operation& op) {
    constexpr std::uint64_t kGather = 0, kDown = 1;
    const auto data = op.arguments().data;
    const auto mine = op.arguments().contribution;
    const auto part = [&](int rank) { return runtime::slice(data, static_cast<std::uint64_t>(rank) * mine.size, mine.size); };
    if (op.rank() == 0) {
        copy_bytes(part(0).data, mine.data, mine.size);
        std::vector<Pending> parts;
        parts.reserve(static_cast<std::size_t>(op.size()));
        for (int rank = 1; rank < op.size(); ++rank) parts.push_back(op.receive(rank, part(rank), kGather));
        co_await op.all_of(parts);
    } else {
        co_await op.send(0, mine, kGather);
    }
    TreePlace place = binomial_tree(op.size(), 0, op.rank());
    co_await relay(op, data, place.parent, std::move(place.children), 0, kDown);
}

}  // namespace

Task exchange(Operation& op) { return runtime::are_on_one_node(op) ? publish_and_copy(op, true, &same_for_all) : exchange_by_messages(op); }

}  // namespace rollcall::collectives
