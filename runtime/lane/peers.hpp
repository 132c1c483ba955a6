/// \file
/// What a lane keeps for each peer: eager allowance, the order of point-to-point messages, and whether it is still there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/clock.hpp"
#include "runtime/lane/message.hpp"
#include "runtime/lane/peer_table.hpp"

namespace rollcall::runtime {

class Transfer;

/// A peer is connected, then perhaps suspected (the transport lost it, and who started the job may know better why), then
/// perhaps gone. No way leads back. Knows no transport. Owner-only.
class Peers {
  public:
    enum class Standing : std::uint8_t { connected, suspected, gone };
    struct Trouble {
        Standing standing = Standing::suspected;
        Nanoseconds since = 0;  ///< Suspected since then.
        /// "became unreachable: Connection reset by remote peer", "was killed by signal 9". Empty: the whole job has ended.
        std::string what;
        std::vector<Transfer*> undecided;  ///< Transfers that the transport could not do, which wait for the reason.
    };

    /// Of a job of so many ranks; `granted` is the eager allowance that this process gives each peer.
    Peers(int size, std::uint32_t granted, bool accepts_data)
        : table_(size, PeerState{.allowance = granted, .accepts_data = accepts_data}), granted_(granted) {}

    PeerState& operator[](int peer) { return table_[peer]; }
    template <class F>
    void for_each(F&& visit) {
        table_.for_each(visit);
    }

    // --- eager allowance ---
    std::uint32_t granted() const noexcept { return granted_; }
    /// Whether take_allowance() would.
    static bool allows(const PeerState& peer, std::uint64_t bytes) noexcept {
        return peer.allowance >= kEntryCharge + bytes && (bytes == 0 || peer.accepts_data);
    }
    /// Takes what an eager message with so many bytes costs from what this rank may still send to the peer. False: not now.
    static bool take_allowance(PeerState& peer, std::uint64_t bytes) noexcept {
        if (!allows(peer, bytes)) return false;
        peer.allowance -= kEntryCharge + static_cast<std::uint32_t>(bytes);
        return true;
    }
    /// A message of the peer was consumed. True: it should be told by a message of its own.
    bool owe(int peer, std::uint32_t charge) {
        PeerState& state = table_[peer];
        state.owed += charge;
        owed_ += charge;
        return state.owed >= granted_ / 2;
    }
    /// What is given back to the peer with the next message: whole units, at most so many.
    std::uint32_t take_owed(int peer, std::uint32_t unit = 1, std::uint32_t most = ~std::uint32_t{0}) {
        if (owed_ == 0) return 0;  // to nobody: what is kept of this peer is not looked at
        PeerState& state = table_[peer];
        const std::uint32_t taken = (state.owed / unit < most ? state.owed / unit : most) * unit;
        state.owed -= taken;
        owed_ -= taken;
        return taken;
    }

    // --- standing ---
    /// Whether any peer is gone; costs nothing.
    bool any_gone() const noexcept { return gone_ > 0; }
    bool is_gone(int peer) const {
        const Trouble* trouble = find(peer);
        return trouble && trouble->standing == Standing::gone;
    }
    const Trouble* find(int peer) const {
        if (troubles_.empty()) return nullptr;
        const auto found = troubles_.find(peer);
        return found == troubles_.end() ? nullptr : &found->second;
    }
    /// Connected becomes suspected. False: it is in trouble already.
    bool suspect(int peer, std::string what, Nanoseconds now);
    /// A better reason for a suspicion.
    void explain(int peer, std::string what);
    /// The transfer waits until its peer, which is suspected, is gone.
    void wait_for_reason(int peer, Transfer& transfer) { troubles_.at(peer).undecided.push_back(&transfer); }
    void stop_waiting(int peer, Transfer& transfer);
    /// It becomes gone, because `what`. Gives what waited for the reason; nothing: it was gone already.
    std::optional<std::vector<Transfer*>> bury(int peer, std::string what);

    bool any_suspected() const noexcept { return troubles_.size() > gone_; }
    /// Who has been suspected for `grace`, the longest suspected first: others may have left because of it. And when the next one will have
    /// been.
    std::vector<int> suspected_for(Nanoseconds grace, Nanoseconds now) const;
    Nanoseconds next_suspicion_over(Nanoseconds grace) const;

    /// The first that was gone, or -1: others may have left because of it.
    int first_gone() const noexcept { return first_gone_; }
    /// One that is gone or suspected, the first that was gone before all others; -1: none.
    int any_trouble() const { return first_gone_ >= 0 || troubles_.empty() ? first_gone_ : troubles_.begin()->first; }
    template <class F>
    void for_each_gone(F&& visit) const {
        for (const auto& [peer, trouble] : troubles_)
            if (trouble.standing == Standing::gone) visit(peer);
    }

  private:
    PeerTable table_;
    std::uint64_t owed_ = 0;  ///< Eager allowance that is owed to peers, all together.
    std::uint32_t granted_;
    int first_gone_ = -1;
    std::size_t gone_ = 0;
    std::unordered_map<int, Trouble> troubles_;
};

/// The eager allowance of each peer, within half of a landing budget.
std::uint32_t allowance_for(std::uint64_t landing_bytes, int size);
/// What is left of it for large early messages.
std::uint64_t landing_budget_for(std::uint64_t landing_bytes, int size);

}  // namespace rollcall::runtime
