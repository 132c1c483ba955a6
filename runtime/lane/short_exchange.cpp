#include "runtime/lane/short_exchange.hpp"

#include "runtime/lane/engine.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::runtime {

ShortExchange::ShortExchange(Operation& operation, bool for_everybody, std::uint64_t size)
    : NodeUse(operation, size),
      for_everybody_(for_everybody),
      ranks_(operation.size()),
      own_(operation.rank()),
      others_((~std::uint64_t{0} >> (kMostRanks - ranks_)) & ~bit(0)),
      unread_(others_),
      key_(node::key_of(operation.communicator().group->id, operation.sequence())) {
    const Group& group = *operation.communicator().group;
    const node::NodeMemory& memory = *operation.engine().node();
    const int reader = for_everybody ? kEverybody : operation.communicator().rank;
    for (int place = 1; place < ranks_; ++place) {
        const int publisher = operation.member(rank_at(place));
        entries_[static_cast<std::size_t>(place)] =
            &entry_in(memory.region_of(group.world_rank(publisher)), group, publisher, reader, operation.sequence());
    }
}

ShortExchange::~ShortExchange() {
    if (claimed_) operation_.engine().node()->withdraw(*claimed_, claimed_generation_);
    tell();
}

node::Entry& ShortExchange::entry_for(int place) const noexcept {
    return entry_in(operation_.engine().node()->own(), *operation_.communicator().group, operation_.communicator().rank,
                    for_everybody_ ? kEverybody : operation_.member(rank_at(place)), operation_.sequence());
}

std::uint64_t ShortExchange::find_free() const noexcept {
    if (unpublished_ == 0) return 0;
    const int reader = for_everybody_ ? kEverybody : operation_.communicator().rank;
    if (!operation_.earlier_have_ended(period_of(*operation_.communicator().group, reader))) return 0;
    for (std::uint64_t left = unpublished_, next; left != 0; left &= ~next) {
        next = std::bit_floor(left);
        if (node::NodeMemory::is_free(entry_for(std::countr_zero(next)))) return next;
    }
    return 0;
}

std::uint64_t ShortExchange::find_shown() const noexcept {
    for (std::uint64_t left = unread_; left != 0; left &= left - 1)
        if (entries_[static_cast<std::size_t>(std::countr_zero(left))]->key.load(std::memory_order_acquire) == key_) return left & -left;
    return 0;
}

bool ShortExchange::next_room() {
    if (claimed_) return true;
    now_ = find_free();
    if (now_ == 0) {
        tell();
        return false;
    }
    const int place = std::countr_zero(now_);
    node::Entry& entry = entry_for(place);
    const auto readers = for_everybody_ ? static_cast<std::uint32_t>(ranks_ - 1) : 1;
    claimed_generation_ = operation_.engine().node()->claim(entry, operation_.communicator().group, operation_.sequence(), readers);
    claimed_ = &entry;
    if (!for_everybody_) other_ = rank_at(place);
    return true;
}

void ShortExchange::publish() {
    claimed_->call = operation_.call();
    claimed_->size = size_;
    claimed_->first = node::kEnd;
    node::NodeMemory::show(*claimed_, *operation_.communicator().group);
    claimed_ = nullptr;
    unpublished_ &= ~now_;
    to_tell_ |= for_everybody_ ? others_ : now_;
    if (operation_.engine().tells_of_puts_) tell();
}

bool ShortExchange::find(int place) {
    node::Entry& entry = *entries_[static_cast<std::size_t>(place)];
    if (entry.key.load(std::memory_order_acquire) != key_) return false;
    const Call call = entry.call;
    const std::uint64_t size = entry.size;
    read_generation_ = node::generation_of(entry.state.load(std::memory_order_acquire));
    // The publisher may have taken it back meanwhile.
    if (entry.key.load(std::memory_order_acquire) != key_) return false;
    other_ = rank_at(place);
    if (!operation_.call().agrees_with(call)) {
        operation_.engine().mismatch(operation_, call, operation_.member(other_));
        return false;
    }
    if (size != size_) {
        operation_.engine().mismatch_of_sizes(operation_, operation_.member(other_), size_, size);
        return false;
    }
    reads_ = &entry;
    now_ = bit(place);
    return true;
}

bool ShortExchange::next_here() {
    for (std::uint64_t left = unread_; left != 0; left &= left - 1)
        if (find(std::countr_zero(left))) return true;
    tell();
    return false;
}

bool ShortExchange::let_go() {
    const auto readers = node::let_go(reads_->state, read_generation_);
    if (!readers) return false;
    unread_ &= ~now_;
    // The publisher waits for the last reader, so only the last one tells it.
    if (*readers == 0) to_tell_ |= now_;
    if (operation_.engine().tells_of_puts_) tell();
    return true;
}

void ShortExchange::tell() {
    if (to_tell_ == 0) return;
    // One look at all ranks takes less time than several at one rank each.
    operation_.engine().tell_node(operation_, std::has_single_bit(to_tell_) ? rank_at(std::countr_zero(to_tell_)) : kEverybody);
    to_tell_ = 0;
}

bool ShortExchange::awaits(int rank) const noexcept {
    if (rank == own_) return false;
    const std::uint64_t its = bit(place_of(rank));
    return ((for_everybody_ && unpublished_ ? others_ : unpublished_) & its) != 0 || (unread_ & its) != 0;
}

bool ShortExchange::is_kept_by(const node::NodeMemory::Claim& claim) const noexcept {
    for (std::uint64_t left = claimed_ ? 0 : unpublished_; left != 0; left &= left - 1)
        if (claim.entry == &entry_for(std::countr_zero(left))) return true;
    return false;
}

}  // namespace rollcall::runtime
