/// \file
/// What a lane keeps for each peer: the eager allowance, the order of point-to-point messages, and whether the peer is still there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "foundation/clock.hpp"
#include "runtime/messages/message.hpp"
#include "runtime/messages/peer_table.hpp"

namespace rollcall::runtime {

class Transfer;

/// The state of all peers. A peer is connected at first. It may become suspected: the transport lost it, and the bootstrap may
/// know the reason better. It may become dead: its process has ended, but what it sent before may still arrive. Then it may become gone. It
/// never returns to an earlier state. Knows no transport. Owner-only.
class Peers {
  public:
    enum class Standing : std::uint8_t { connected, suspected, dead, gone };
    struct Trouble {
        Standing standing = Standing::suspected;
        Nanoseconds since = 0;      ///< When the suspicion began, or when the death became known.
        Nanoseconds heard_until{};  ///< Of a dead peer: until then, what it sent may arrive.
        std::uint32_t number = 0;   ///< Of a dead peer: how many had died before, plus one.
        /// "became unreachable: Connection reset by remote peer", "was killed by signal 9". Empty: the whole job has ended.
        std::string what;
        std::vector<Transfer*> undecided;  ///< Transfers that the transport could not do and that wait for the reason.
    };

    /// `size`: the number of ranks of the job. `granted`: the eager allowance that this process gives each peer.
    Peers(int size, std::uint32_t granted, bool accepts_data)
        : table_(size, PeerState{.allowance = granted, .accepts_data = accepts_data}), granted_(granted) {}

    PeerState& operator[](int peer) { return table_[peer]; }
    template <class F>
    void for_each(F&& visit) {
        table_.for_each(visit);
    }

    // --- eager allowance ---
    std::uint32_t granted() const noexcept { return granted_; }
    /// Whether take_allowance() would succeed.
    static bool allows(const PeerState& peer, std::uint64_t bytes) noexcept {
        return peer.allowance >= kEntryCharge + bytes && (bytes == 0 || peer.accepts_data);
    }
    /// Takes the cost of an eager message with `bytes` bytes from what this rank may still send to the peer. Returns false when too little
    /// is left.
    static bool take_allowance(PeerState& peer, std::uint64_t bytes) noexcept {
        if (!allows(peer, bytes)) return false;
        peer.allowance -= kEntryCharge + static_cast<std::uint32_t>(bytes);
        return true;
    }
    /// A message of the peer was consumed. Returns whether the allowance should be given back at once, in a message of its own.
    bool owe(int peer, std::uint32_t charge) {
        PeerState& state = table_[peer];
        state.owed += charge;
        owed_ += charge;
        return state.owed >= granted_ / 2;
    }
    /// Takes what is to be given back to the peer with the next message: a whole number of units, at most `most` units.
    std::uint32_t take_owed(int peer, std::uint32_t unit = 1, std::uint32_t most = ~std::uint32_t{0}) {
        if (owed_ == 0) return 0;  // Nothing is owed to any peer: this peer's state need not be looked at
        PeerState& state = table_[peer];
        const std::uint32_t taken = (state.owed / unit < most ? state.owed / unit : most) * unit;
        state.owed -= taken;
        owed_ -= taken;
        return taken;
    }

    // --- standing ---
    /// Whether any peer is dead or gone. Costs almost nothing.
    bool any_dead() const noexcept { return dead_ > 0 || gone_ > 0; }
    bool is_gone(int peer) const { return has(peer, Standing::gone); }
    /// Whether a message to the peer has no receiver any more: it is dead or gone.
    bool is_dead_or_gone(int peer) const { return has(peer, Standing::dead) || is_gone(peer); }
    const Trouble* find(int peer) const {
        if (troubles_.empty()) return nullptr;
        const auto found = troubles_.find(peer);
        return found == troubles_.end() ? nullptr : &found->second;
    }
    /// Changes the peer from connected to suspected. Returns false when it is suspected or gone already.
    bool suspect(int peer, std::string what, Nanoseconds now);
    /// Gives a better reason for a suspicion.
    void explain(int peer, std::string what);
    /// The peer, which was connected or suspected, becomes dead; `what` is the reason. What it sent before may arrive until the given time.
    void hear_out(int peer, std::string what, Nanoseconds now, Nanoseconds until);
    /// Of a dead peer: gives another such time. (The transport may find that nothing comes any more.)
    void hear_until(int peer, Nanoseconds until) { troubles_.at(peer).heard_until = until; }
    bool is_heard_out(int peer) const { return has(peer, Standing::dead); }
    bool any_heard_out() const noexcept { return dead_ > 0; }
    /// The transfer waits until its peer, which is suspected, is gone.
    void wait_for_reason(int peer, Transfer& transfer) { troubles_.at(peer).undecided.push_back(&transfer); }
    void stop_waiting(int peer, Transfer& transfer);
    /// The peer becomes gone; `what` is the reason. Returns the transfers that waited for the reason, or nothing if the peer was gone
    /// already.
    std::optional<std::vector<Transfer*>> declare_gone(int peer, std::string what);

    /// The other ranks have agreed to go on without the peer, which is lost. (This rank may not know it yet.) The job can end in good order
    /// nevertheless, and later failures are not put down to it.
    void excuse(int peer);
    bool any_excused() const noexcept { return !excused_.empty(); }
    bool is_excused(int peer) const { return excused_.contains(peer); }

    bool any_suspected() const noexcept { return troubles_.size() > gone_; }  ///< Or dead.
    /// suspected_for() returns the peers that have been suspected for at least `grace`, and the dead ones whose time is over, the earliest
    /// first, because others may have left on account of it. For the same reason, the time of a dead peer is over only when that of each
    /// peer that died before is over. next_suspicion_over() returns when the next peer will reach that time.
    std::vector<int> suspected_for(Nanoseconds grace, Nanoseconds now) const;
    Nanoseconds next_suspicion_over(Nanoseconds grace) const;

    /// The first peer that was dead or gone and is not excused, or -1. Other peers may have left because of it.
    int first_gone() const noexcept { return first_gone_; }
    /// A peer that is gone or suspected and not excused, preferably the first that was gone; -1: there is none.
    int any_trouble() const;
    template <class F>
    void for_each_gone(F&& visit) const {
        for (const auto& [peer, trouble] : troubles_)
            if (trouble.standing == Standing::gone) visit(peer);
    }

  private:
    bool has(int peer, Standing standing) const {
        const Trouble* trouble = find(peer);
        return trouble && trouble->standing == standing;
    }
    struct Ending {
        Nanoseconds at;
        const Trouble* trouble;
        int peer;
    };
    std::vector<Ending> endings(Nanoseconds grace) const;  ///< When the suspected and the dead peers will be gone, the earliest first.

    PeerTable table_;
    std::uint64_t owed_ = 0;  ///< Eager allowance owed to all peers together.
    std::uint32_t granted_;
    int first_gone_ = -1;
    std::size_t dead_ = 0, gone_ = 0;
    std::uint32_t deaths_ = 0;
    std::unordered_map<int, Trouble> troubles_;
    std::unordered_set<int> excused_;
};

/// The eager allowance of each peer, in bytes: an equal share of half of the landing budget, but at least 4 KiB and at most 256 KiB.
std::uint32_t allowance_for(std::uint64_t landing_bytes, int size);
/// What remains of the landing budget for large early messages, in bytes: at least half of the budget.
std::uint64_t landing_budget_for(std::uint64_t landing_bytes, int size);

}  // namespace rollcall::runtime
