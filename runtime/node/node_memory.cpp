#include "runtime/node/node_memory.hpp"

#include <utility>

namespace rollcall::runtime::node {

NodeMemory::NodeMemory(const Shared& shared, int own_rank_on_node, std::vector<int> rank_on_node, Landing& landing)
    : shared_(shared),
      own_rank_(own_rank_on_node),
      rank_on_node_(std::move(rank_on_node)),
      own_(shared.region(own_rank_on_node)),
      pool_(own_, landing),
      inbox_(shared.mailboxes(own_rank_on_node)) {
    for (int rank = 0; rank < shared.ranks; ++rank) regions_.push_back(shared.region(rank));
}

Outbox* NodeMemory::open_outbox(int world_rank) {
    if (!has(world_rank)) return nullptr;
    Mailboxes& owner = shared_.mailboxes(on_node(world_rank));
    Mailbox* const box = open_mailbox(owner);
    return box ? &outboxes_.emplace_back(owner, *box) : nullptr;
}

bool NodeMemory::holds(const Group& group) const {
    if (!group.has_slots) return false;
    for (int member = 0; member < group.size; ++member)
        if (on_node(group.world_rank(member)) < 0) return false;
    return true;
}

void NodeMemory::withdraw(Entry& entry, std::uint32_t generation) noexcept {
    if (generation_of(entry.state.load(std::memory_order_relaxed)) != generation) return;
    pool_.withdraw(entry);
    entry.key.store(0, std::memory_order_relaxed);
    entry.state.store(state_of(generation + 1, 0), std::memory_order_seq_cst);
    // The fence comes before the program writes into a buffer that was published in place.
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace rollcall::runtime::node
