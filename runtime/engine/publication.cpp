#include "runtime/engine/publication.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "foundation/error_text.hpp"
#include "runtime/engine/engine.hpp"
#include "transports/process_memory.hpp"

namespace rollcall::runtime {
namespace {

using transport::Bytes;
using transport::ConstBytes;

}  // namespace

void find_places_in_node(Operation& operation) {
    const node::NodeMemory& memory = *operation.engine().node();
    CommunicatorState& communicator = operation.communicator();
    const Group& group = *communicator.group;
    communicator.places.resize(static_cast<std::size_t>(group.size));
    for (int rank = 0; rank < group.size; ++rank)
        if (const int peer = group.world_rank(rank); memory.has(peer))
            communicator.places[static_cast<std::size_t>(rank)] = memory.region_of(peer).entries_of(group.slot_of(rank, 0));
}

bool are_on_one_node(Operation& operation) {
    const node::NodeMemory* const memory = operation.engine().node();
    return memory && memory->holds(*operation.communicator().group);
}

NodeUse::NodeUse(Operation& operation, std::uint64_t size) : operation_(operation), size_(size) {
    next_ = operation.node_uses_;
    if (next_) next_->previous_ = this;
    operation.node_uses_ = this;
    operation.has_used_node_ = true;
}

NodeUse::~NodeUse() {
    (previous_ ? previous_->next_ : operation_.node_uses_) = next_;
    if (next_) next_->previous_ = previous_;
}

void NodeUse::add_awaited(const Operation& operation, std::vector<int>& peers) {
    const Group& group = *operation.communicator_.group;
    for (const NodeUse* use = operation.node_uses_; use; use = use->next_)
        for (int rank = 0; rank < operation.size(); ++rank)
            if (use->awaits(rank)) peers.push_back(group.world_rank(operation.member(rank)));
}

bool NodeUse::waits_for_readers_of(const node::NodeMemory::Claim& claim, const Operation& operation) {
    for (const NodeUse* use = operation.node_uses_; use; use = use->next_)
        if (use->is_kept_by(claim)) return true;
    return false;
}

bool NodeUse::tells_of_other_call(const node::Entry& entry, std::uint64_t key, int publisher) const {
    const auto shown = node::look_at(entry, key);
    if (!shown || operation_.call().agrees_with(shown->call)) return false;
    operation_.tell_call_differs(shown->call, operation_.communicator().group->world_rank(publisher));
    return true;
}

// --- Publication -----------------------------------------------------------------------------------------------------------

Publication::Publication(Operation& operation, int to, std::uint64_t size, Publisher publisher)
    : NodeUse(operation, size),
      to_(to),
      leaves_(publisher == Publisher::leaves),
      entry_(entry_at(places_in_node(operation)[static_cast<std::size_t>(operation.communicator().rank)], *operation.communicator().group,
                      to < 0 ? to : operation.member(to), operation.sequence())) {
    publisher_.entry = &entry_;
    publisher_.communicator = operation.communicator().group->id;
    publisher_.sequence = operation.sequence();
}

Publication::~Publication() {
    node::NodeMemory& memory = *operation_.engine().node();
    if (block_ != node::kNoBlock) memory.pool().give_back(block_);
    memory.pool().leave(publisher_);
    if (claimed_ && (!complete_ || !is_read())) memory.withdraw(entry_, generation_);
}

void Publication::try_in_place(ConstBytes data, InPlace which) {
    const bool is_offer = which == InPlace::offered;
    if (which == InPlace::nothing || size_ <= (is_offer ? kLeastOffered : kLeastInPlace)) return;
    node::NodeMemory& memory = *operation_.engine().node();
    reference_ = memory.buffers().find(data);
    if (!reference_ && which != InPlace::shared && pays_to_read(is_offer) && data.data && is_read_by_readers())
        reference_ = node::Reference{0, 0, reinterpret_cast<std::uint64_t>(data.data), ::getpid(), node::Reference::kNoFile};
    if (reference_) reference_->is_offer = is_offer;
}

bool Publication::take_back() {
    if (!reference_ || !reference_->is_offer || !complete_ || !node::NodeMemory::take_back(entry_, generation_)) return false;
    reference_.reset();
    claimed_ = complete_ = false;
    offset_ = 0;
    return true;
}

bool Publication::pays_to_read(bool is_offer) const {
    const bool has_own_core = !operation_.engine().node()->prefers_single_copy();
    if (!is_offer) return size_ > (has_own_core ? kLeastPrivateWithCores : kLeastPrivate);
    // While a single reader copies a piece of a scatter, the root writes the next one. Several readers of offers copy at the same time.
    return !has_own_core || operation_.size() > 2 || operation_.stays();
}

bool Publication::is_read_by_readers() const {
    const node::NodeMemory& memory = *operation_.engine().node();
    for (int reader = 0; reader < operation_.size(); ++reader)
        if (is_for(reader) && !memory.is_read_by(operation_.communicator().group->world_rank(operation_.member(reader)))) return false;
    return true;
}

bool Publication::is_read() const noexcept {
    if (!reference_) return true;
    const node::State state = entry_.state.load(std::memory_order_acquire);
    return complete_ && (node::readers_of(state) == 0 || node::generation_of(state) != generation_);
}

std::uint32_t Publication::readers() const noexcept {
    if (to_ >= 0) return 1;
    return static_cast<std::uint32_t>(operation_.size() - 1 - (to_ == kHigherRanks ? operation_.rank() : 0));
}

bool Publication::is_for(int rank) const noexcept {
    if (to_ >= 0) return rank == to_;
    return to_ == kHigherRanks ? rank > operation_.rank() : rank != operation_.rank();
}

bool Publication::take_block() {
    node::Pool& pool = operation_.engine().node()->pool();
    if (size_ > node::kLargeBytes && !publisher_.has_place && !pool.enter(publisher_)) return false;
    block_ = size_ <= node::kSmallBytes ? pool.take_small(publisher_) : pool.take_large(publisher_);
    return block_ != node::kNoBlock;
}

bool Publication::has_room() {
    if (into_ || by_message_) return true;
    node::NodeMemory& memory = *operation_.engine().node();
    if (!claimed_) {
        if (!node::NodeMemory::is_free(entry_)) return false;
        if (!operation_.earlier_have_ended(period_of(*operation_.communicator().group, to_))) return false;
        generation_ = memory.claim(entry_, operation_.communicator().group, operation_.sequence(), readers());
        claimed_ = true;
    }
    piece_ = size_ - offset_;
    if (piece_ > kPieceOfNode) piece_ = piece_of_node(operation_);
    if (reference_) {
        piece_ = size_;
        static_assert(sizeof *reference_ <= node::Entry::kInline);
        std::memcpy(entry_.data, &*reference_, sizeof *reference_);
        into_ = entry_.data;
        return true;
    }
    if (size_ <= node::kPlaceBytes) {
        into_ = memory.own().place_of(entry_, size_);
        return true;
    }
    if (take_block()) {
        into_ = memory.own().data(block_);
        return true;
    }
    // The readers of the blocks that others hold may wait for this operation, or for a message that takes the budget.
    if (offset_ > 0 || memory.pool().holds_blocks_of_earlier(publisher_)) return false;
    by_message_ = true;
    memory.pool().leave(publisher_);
    return true;
}

ConstBytes Publication::next_of(ConstBytes all) const noexcept { return slice(all, offset_, piece_); }

void Publication::publish() {
    if (by_message_) {
        complete_ = true;
        return show(node::kByMessage);
    }
    node::NodeMemory& memory = *operation_.engine().node();
    const bool is_first = offset_ == 0;
    const std::uint32_t block_before = last_block_;
    offset_ += piece_;
    complete_ = offset_ == size_;
    node::Link link = reference_ ? node::kInPlace : node::kEnd;
    if (block_ != node::kNoBlock) {
        link = memory.pool().publish(block_, piece_, readers());
        if (complete_) memory.own().head(block_).next.store(node::kEnd, std::memory_order_relaxed);
    }
    last_block_ = std::exchange(block_, node::kNoBlock);
    into_ = nullptr;
    if (complete_) memory.pool().leave(publisher_);
    if (is_first) return show(link);
    memory.own().head(block_before).next.store(link, std::memory_order_release);
    operation_.engine().node_link().tell(operation_, to_);
    if (complete_ && leaves_) look_for_other_calls();
}

void Publication::show(node::Link first) {
    entry_.call = operation_.call();
    entry_.size = size_;
    entry_.first = first;
    node::NodeMemory::show(entry_, *operation_.communicator().group);
    operation_.engine().node_link().tell(operation_, to_);
    if (complete_ && leaves_) look_for_other_calls();
}

void Publication::look_for_other_calls() const {
    const Group& group = *operation_.communicator().group;
    const std::uint64_t key = node::key_of(group.id, operation_.sequence());
    const std::vector<node::Entry*>& places = places_in_node(operation_);
    for (int reader = 0; reader < operation_.size(); ++reader) {
        if (!is_for(reader)) continue;
        const int member = operation_.member(reader);
        for (const int addressee : {operation_.communicator().rank, kEverybody})
            if (is_of_other_call(entry_at(places[static_cast<std::size_t>(member)], group, addressee, operation_.sequence()), key, member))
                return;
    }
}

bool Publication::awaits(int rank) const noexcept { return (complete_ ? !is_read() : !into_ && !by_message_) && is_for(rank); }

bool Publication::is_kept_by(const node::NodeMemory::Claim& claim) const noexcept {
    if (complete_ || into_ || by_message_) return false;
    // It waits for its entry, or for blocks of its pool.
    return claimed_ ? claim.group->id == publisher_.communicator && claim.sequence < publisher_.sequence : claim.entry == &entry_;
}

// --- Reading ---------------------------------------------------------------------------------------------------------------

Reading::Reading(Operation& operation, int from, bool for_everybody, std::uint64_t size)
    : NodeUse(operation, size),
      publisher_(from),
      region_(operation.engine().node()->region_of(operation.communicator().group->world_rank(operation.member(from)))),
      entry_(entry_at(places_in_node(operation)[static_cast<std::size_t>(operation.member(from))], *operation.communicator().group,
                      for_everybody ? kEverybody : operation.communicator().rank, operation.sequence())) {}

bool Reading::find() {
    const std::uint64_t key = node::key_of(operation_.communicator().group->id, operation_.sequence());
    if (entry_.key.load(std::memory_order_acquire) != key) return false;
    generation_ = node::generation_of(entry_.state.load(std::memory_order_acquire));
    // The publisher may take it back meanwhile, and publish a copy under the same key. So the key is read again after the generation: then
    // what follows belongs to this generation, unless the generation has changed when all is read.
    if (entry_.key.load(std::memory_order_acquire) != key) return false;
    const Call call = entry_.call;
    const std::uint64_t size = entry_.size;
    block_ = entry_.first;
    if (block_ == node::kInPlace) std::memcpy(&reference_, entry_.data, sizeof reference_);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entry_.key.load(std::memory_order_relaxed) != key ||
        node::generation_of(entry_.state.load(std::memory_order_relaxed)) != generation_)
        return false;
    if (!operation_.call().agrees_with(call)) {
        operation_.tell_call_differs(call, operation_.communicator().group->world_rank(operation_.member(publisher_)));
        return false;
    }
    if (size != size_) {
        const bool reads_at_root = call.root < 0 || operation_.communicator().rank == call.root;
        operation_.tell_sizes_differ(operation_.member(publisher_), reads_at_root ? size_ : size, reads_at_root ? size : size_);
        return false;
    }
    if (block_ == node::kInPlace && !reach()) return false;
    found_ = true;
    if (block_ == node::kEnd) {
        from_ = region_.place_of(entry_, size_);
        piece_ = size_;
    }
    if (by_message()) offset_ = size_;
    return true;
}

void Reading::fail(std::string_view what, std::string_view remedy, int reason) {
    operation_.engine().break_communicator(
        operation_.communicator(), operation_.sequence(),
        Error(ErrorCode::state, fmt::format("{}: {}: {}. {}", operation_.describe(), what, error_text(reason), remedy)), true);
}

bool Reading::reach() {
    // If the publisher has taken an offer back, it will publish a copy.
    if (reference_.is_offer && !node::take(entry_.state, generation_)) return false;
    if (reference_.is_private()) return true;
    mapping_ = operation_.engine().node()->mappings().map(reference_);
    if (!mapping_) {
        // If the publisher is gone, this rank will soon be told of its death, which is the better explanation.
        const int reason = errno;
        if (reason == ENOENT) return false;
        fail(fmt::format("the memory that rank {} has taken by Job::allocate() cannot be mapped", operation_.member(publisher_)),
             reason == EACCES || reason == EPERM
                 ? "This process may not look into that one: give both the same user and capabilities, or set ROLLCALL_NODE_MEMORY=no"
                 : "Raise the limits of open files and memory (ulimit -n, ulimit -v), or set ROLLCALL_NODE_MEMORY=no",
             reason);
        return false;
    }
    from_ = mapping_->memory() + reference_.at;
    piece_ = size_;
    return true;
}

void Reading::copy_private(Bytes all) {
    const Bytes into = next_of(all);
    if (transport::read_memory(reference_.process, reference_.at + offset_, into.data, into.size)) return;
    // The publisher may have taken it back, or died. This rank will be told of that.
    const int reason = errno;
    withdrawn_ = true;
    if (node::generation_of(entry_.state.load(std::memory_order_acquire)) != generation_ || reason == ESRCH) return;
    fail(fmt::format("the memory of rank {} cannot be read", operation_.member(publisher_)), "Set ROLLCALL_SINGLE_COPY=no", reason);
}

bool Reading::is_here() {
    if (here_ || complete_) return here_;
    if (!found_) {
        if (!find()) return false;
    } else if (!is_private()) {
        const node::Link next = region_.head(node::block_of(block_)).next.load(std::memory_order_acquire);
        if (next == 0) return false;
        let_go_of_block();
        // The block was taken back, and may serve another publication already, to which `next` would lead. The operation is about to fail.
        if (withdrawn_) return false;
        block_ = next;
    }
    here_ = true;
    if (by_message()) return true;
    note_data();
    if (is_private()) piece_ = std::min(operation_.arguments().combiner.whole_elements(kPrivatePiece), size_ - offset_);
    if (!node::is_block(block_)) return true;
    const std::uint32_t block = node::block_of(block_);
    from_ = region_.data(block);
    // A block that was taken back may hold any value here.
    piece_ = std::min<std::uint64_t>(region_.head(block).size, size_ - offset_);
    return true;
}

Bytes Reading::next_of(Bytes all) const noexcept { return slice(all, offset_, piece_); }

// The publisher waits for the last reader, so only the last one tells it.
void Reading::let_go_of(std::atomic<node::State>& state, std::uint32_t generation, std::uint32_t readers) {
    const auto left = node::let_go(state, generation, readers);
    if (!left)
        withdrawn_ = true;
    else if (*left == 0)
        operation_.engine().node_link().tell(operation_, publisher_);
}

void Reading::let_go_of_block() { let_go_of(region_.head(node::block_of(block_)).state, node::generation_of(block_), 1); }

void Reading::let_go_of_entry() {
    const bool is_taken = block_ == node::kInPlace && reference_.is_offer;
    let_go_of(entry_.state, generation_, is_taken ? node::kTaken : 1);
}

bool Reading::let_go() {
    here_ = false;
    offset_ += piece_;
    complete_ = offset_ == size_;
    if (complete_) {
        if (node::is_block(block_)) let_go_of_block();
        let_go_of_entry();
    } else if (is_private()) {
        if (node::generation_of(entry_.state.load(std::memory_order_acquire)) != generation_) withdrawn_ = true;
    } else if (node::generation_of(region_.head(node::block_of(block_)).state.load(std::memory_order_acquire)) !=
               node::generation_of(block_)) {
        withdrawn_ = true;
    }
    return !withdrawn_;
}

// If the publisher took the last piece back, this rank still waits to be told why.
bool Reading::awaits(int rank) const noexcept { return (withdrawn_ || (!complete_ && !here_)) && rank == publisher_; }

}  // namespace rollcall::runtime
