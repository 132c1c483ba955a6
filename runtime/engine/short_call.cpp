#include "runtime/engine/short_call.hpp"

#include <atomic>

#include "foundation/copy.hpp"
#include "foundation/relax.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/mismatches.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::runtime {
namespace {

void copy(transport::Bytes into, transport::ConstBytes from) noexcept {
    if (into.data != from.data) copy_short(into.data, from.data, into.size);
}

}  // namespace

class ShortCall {
  public:
    ShortCall(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const ShortMove& move,
              unsigned looks) noexcept
        : engine_(engine),
          communicator_(communicator),
          sequence_(sequence),
          call_(call),
          move_(move),
          looks_(looks),
          publishes_(move.does != ShortMove::Does::read),
          rank_(communicator.rank),
          first_(publishes_ && move.for_everybody ? 0 : move.partner),
          last_(publishes_ && move.for_everybody ? communicator.group->size - 1 : move.partner) {}
    bool end_at_once();

  private:
    bool is_alone() const noexcept;
    bool publish();
    bool read();
    bool comes(const node::Entry& entry) const noexcept;
    void take(transport::ConstBytes its) const;
    bool finds_other_call();
    bool is_other_call(const node::Entry& entry, int publisher);
    void wake();
    node::Entry* places_of(int rank) const noexcept { return communicator_.places[static_cast<std::size_t>(rank)]; }

    Engine& engine_;
    CommunicatorState& communicator_;
    const std::uint64_t sequence_;
    const Call& call_;
    const ShortMove& move_;
    const unsigned looks_;
    const bool publishes_;
    const int rank_;
    const int first_, last_;  ///< The ranks that read what this one publishes, or the rank that has published what this one reads.
    std::uint64_t key_ = 0;
};

// What an Operation checks, waits for or hands over at its beginning and its end concerns other operations or early messages. There are
// none. (The first call of a communicator finds the places of its ranks in node memory, so it is an Operation.)
inline bool ShortCall::is_alone() const noexcept {
    return engine_.active_.size() == 0 && engine_.early_.by_call().size() == 0 && !engine_.deputies_.any_expected() &&
           !engine_.ready_head_ && !engine_.has_early_calls_ && sequence_ == communicator_.begun + 1 && !communicator_.broken &&
           !communicator_.places.empty() && !engine_.tells_of_puts_ && !engine_.has_model_time_;
}

inline bool ShortCall::end_at_once() {
    if (!is_alone()) return false;
    communicator_.remember(sequence_, call_);  // first, because there may be no memory for it
    key_ = node::key_of(communicator_.group->id, sequence_);
    const bool reads = move_.does != ShortMove::Does::publish;
    if (publishes_ && !publish()) return false;
    if (publishes_ && reads) communicator_.shown_at_once = sequence_;
    if (reads && !read()) return false;
    if (!move_.combiner) copy(move_.own_place, move_.own);
    communicator_.begun = sequence_;
    // If a reader has made another call, this one fails when it begins as an Operation.
    return reads || !finds_other_call();
}

inline bool ShortCall::publish() {
    const Group& group = *communicator_.group;
    node::NodeMemory& memory = *engine_.node();
    node::Entry& entry = entry_at(places_of(rank_), group, move_.for_everybody ? kEverybody : move_.partner, sequence_);
    if (!node::NodeMemory::is_free(entry)) return false;
    memory.claim(entry, communicator_.group, sequence_, move_.for_everybody ? static_cast<std::uint32_t>(group.size - 1) : 1);
    copy({memory.own().place_of(entry, move_.data.size), move_.data.size}, move_.data);
    node::show(entry, call_, move_.data.size, key_);
    wake();
    return true;
}

inline bool ShortCall::read() {
    const Group& group = *communicator_.group;
    node::Entry& entry = entry_at(places_of(move_.partner), group, move_.for_everybody ? kEverybody : rank_, sequence_);
    if (!comes(entry)) return false;
    const auto shown = node::look_at(entry, key_);
    if (!shown || !call_.is_same_as(shown->call) || shown->size != move_.place.size) return false;
    take({engine_.node()->region_of(group.world_rank(move_.partner)).place_of(entry, move_.place.size), move_.place.size});
    const auto readers = node::let_go(entry.state, shown->generation);
    if (!readers) return false;
    if (*readers == 0) wake();
    return true;
}

// What a rank waits for often comes sooner than an Operation would be made.
inline bool ShortCall::comes(const node::Entry& entry) const noexcept {
    for (unsigned left = looks_; entry.key.load(std::memory_order_acquire) != key_; --left) {
        if (left == 0) return false;
        relax();
    }
    return true;
}

inline void ShortCall::take(transport::ConstBytes its) const {
    if (!move_.combiner) return copy(move_.place, its);
    const bool is_left = move_.partner < rank_;
    (*move_.combiner)(move_.place.data, is_left ? its.data : move_.own.data, is_left ? move_.own.data : its.data, its.size);
}

// As in ShortExchange::look_for_other_calls().
inline bool ShortCall::finds_other_call() {
    for (int reader = first_; reader <= last_; ++reader) {
        if (reader == rank_) continue;
        for (const int to : {rank_, kEverybody})
            if (is_other_call(entry_at(places_of(reader), *communicator_.group, to, sequence_), reader)) return true;
    }
    return false;
}

inline bool ShortCall::is_other_call(const node::Entry& entry, int publisher) {
    if (entry.key.load(std::memory_order_acquire) != key_) return false;
    const auto shown = node::look_at(entry, key_);
    if (!shown || call_.agrees_with(shown->call)) return false;
    fail_mismatch(engine_, communicator_, sequence_, call_, shown->call, communicator_.group->world_rank(publisher));
    return true;
}

// Either those ranks see the change in their last look before they sleep, or this rank sees that they sleep.
inline void ShortCall::wake() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!engine_.node()->any_sleeps()) return;
    for (int rank = first_; rank <= last_; ++rank) {
        const int peer = communicator_.group->world_rank(rank);
        // The message may need a poll, so somebody must look here (Lane::leave_parked()).
        if (rank != rank_ && engine_.node_link().wake(peer) && engine_.sleeps()) engine_.set_sleeping(false);
    }
}

bool end_at_once(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const ShortMove& move,
                 unsigned looks) {
    try {
        return ShortCall(engine, communicator, sequence, call, move, looks).end_at_once();
    } catch (...) {
        return false;  // The Operation finds what is wrong (mostly there is no memory), and tells the other ranks.
    }
}

}  // namespace rollcall::runtime
