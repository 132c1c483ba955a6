#include "runtime/engine/short_exchange.hpp"

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {

ShortExchange::ShortExchange(Operation& operation, Flow flow, bool for_everybody, std::uint64_t size)
    : NodeUse(operation, size),
      for_everybody_(for_everybody),
      tells_at_once_(operation.engine().tells_of_puts()),
      copies_in_model_time_(operation.engine().has_model_time()),
      is_shown_(operation.communicator().shown_at_once == operation.sequence()),
      ranks_(operation.size()),
      own_(operation.rank()),
      memory_(*operation.engine().node()),
      sequence_(operation.sequence()),
      key_(node::key_of(operation.communicator().group->id, sequence_)) {
    const CommunicatorState& communicator = operation.communicator();
    const auto& places = places_in_node(operation);
    const auto own = static_cast<std::uint64_t>(communicator.rank);
    own_entries_ = places[own];
    entry_ = for_everybody ? node::place_for_all(static_cast<std::uint64_t>(communicator.group->size), sequence_)
                           : node::place_for_one(own, sequence_);
    const std::uint64_t others = (~std::uint64_t{0} >> (kMostRanks - ranks_)) & ~bit(0);
    if (flow == Flow::among_all) {
        readers_ = unread_ = others;
    } else {
        const std::uint64_t partners = own_ == operation.root() ? others : bit(place_of(operation.root()));
        const bool publishes = (flow == Flow::from_root) == (own_ == operation.root());
        readers_ = publishes ? partners : 0;
        unread_ = publishes ? 0 : partners;
    }
    leaves_ = unread_ == 0;
    for (std::uint64_t left = unread_; left != 0; left &= left - 1) {
        const int place = std::countr_zero(left);
        entries_[static_cast<std::size_t>(place)] = places[static_cast<std::size_t>(operation.member(rank_at(place)))] + entry_;
    }
}

ShortExchange::~ShortExchange() {
    if (claimed_) memory_.withdraw(*claimed_, claimed_generation_);
    if (to_tell_ != 0) tell();
}

[[gnu::always_inline]] inline std::uint64_t ShortExchange::find_room() const noexcept {
    std::uint64_t room = 0;
    if (for_everybody_) {
        if (node::NodeMemory::is_free(own_entries_[entry_])) room = 1;
    } else {
        for (std::uint64_t left = unpublished_; left != 0 && room == 0; left &= ~std::bit_floor(left))
            if (node::NodeMemory::is_free(entry_for(std::countr_zero(std::bit_floor(left))))) room = std::bit_floor(left);
    }
    // If many operations wait, their entries are usually taken. This check is cheap, and the next one is a search.
    if (room == 0) return 0;
    const int reader = for_everybody_ ? kEverybody : operation_.communicator().rank;
    return operation_.earlier_have_ended(period_of(*operation_.communicator().group, reader)) ? room : 0;
}

std::uint64_t ShortExchange::find_free() const noexcept { return find_room(); }

bool ShortExchange::take_room() {
    if (claimed_) return true;
    now_ = find_room();
    if (now_ == 0) return false;
    const int place = std::countr_zero(now_);
    node::Entry& entry = entry_for(place);
    const std::uint32_t readers = for_everybody_ ? static_cast<std::uint32_t>(ranks_ - 1) : 1;
    claimed_generation_ = memory_.claim(entry, operation_.communicator().group, sequence_, readers);
    claimed_ = &entry;
    if (!for_everybody_) other_ = rank_at(place);
    return true;
}

void ShortExchange::publish() {
    node::show(*claimed_, operation_.call(), size_, key_);
    claimed_ = nullptr;
    unpublished_ &= ~now_;
    to_tell_ |= for_everybody_ ? readers_ : now_;
    if (tells_at_once_) tell();
}

bool ShortExchange::open(node::Entry& entry, int place) {
    const auto shown = node::look_at(entry, key_);
    if (!shown) return false;
    read_generation_ = shown->generation;
    other_ = rank_at(place);
    const bool differs = !operation_.call().is_same_as(shown->call) || shown->size != size_;
    if (differs && tells_of_difference(operation_.member(other_), shown->call, shown->size)) [[unlikely]]
        return false;
    reads_ = &entry;
    now_ = bit(place);
    note_data();
    return true;
}

bool ShortExchange::tells_of_difference(int publisher, const Call& call, std::uint64_t size) const {
    if (!operation_.call().agrees_with(call)) {
        operation_.tell_call_differs(call, operation_.communicator().group->world_rank(publisher));
        return true;
    }
    if (size == size_) return false;
    const bool reads_at_root = call.root < 0 || operation_.communicator().rank == call.root;
    operation_.tell_sizes_differ(publisher, reads_at_root ? size_ : size, reads_at_root ? size : size_);
    return true;
}

void ShortExchange::tell() {
    if (to_tell_ == 0) return;
    // Either those ranks see the change in their last look before they sleep, or this rank sees that they sleep.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (tells_at_once_ || memory_.any_sleeps()) {
        // One look at all ranks takes less time than several at one rank each.
        const bool is_one = (to_tell_ & (to_tell_ - 1)) == 0;
        operation_.engine().node_link().tell(operation_, is_one ? rank_at(std::countr_zero(to_tell_)) : kEverybody);
    }
    to_tell_ = 0;
    if (leaves_ && unpublished_ == 0) look_for_other_calls();
}

void ShortExchange::look_for_other_calls() const {
    const CommunicatorState& communicator = operation_.communicator();
    const auto& places = communicator.places;
    const std::uint64_t for_one = node::place_for_one(static_cast<std::uint64_t>(communicator.rank), sequence_);
    const std::uint64_t for_all = node::place_for_all(static_cast<std::uint64_t>(communicator.group->size), sequence_);
    for (std::uint64_t left = readers_; left != 0; left &= left - 1) {
        const int reader = operation_.member(rank_at(std::countr_zero(left)));
        const node::Entry* const its = places[static_cast<std::size_t>(reader)];
        if (is_of_other_call(its[for_one], key_, reader) || is_of_other_call(its[for_all], key_, reader)) return;
    }
}

bool ShortExchange::awaits(int rank) const noexcept {
    if (rank == own_) return false;
    const std::uint64_t its = bit(place_of(rank));
    return ((for_everybody_ && unpublished_ ? readers_ : unpublished_) & its) != 0 || (unread_ & its) != 0;
}

bool ShortExchange::is_kept_by(const node::NodeMemory::Claim& claim) const noexcept {
    for (std::uint64_t left = claimed_ ? 0 : unpublished_; left != 0; left &= left - 1)
        if (claim.entry == &entry_for(std::countr_zero(left))) return true;
    return false;
}

}  // namespace rollcall::runtime
