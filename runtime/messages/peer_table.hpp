/// \file
/// The state that a lane keeps for each peer: the eager allowance and the order of point-to-point messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "foundation/clock.hpp"

namespace rollcall::runtime {

namespace node {
class Outbox;
}
struct EarlyMessage;

struct PeerState {
    std::uint32_t allowance = 0;  ///< Eager bytes this rank may still send to the peer.
    std::uint32_t owed = 0;       ///< Bytes of the peer's eager messages that were consumed here and are to be given back.
    std::uint32_t sent = 0;       ///< Point-to-point messages that were sent to the peer.
    std::uint32_t expected = 0;   ///< Point-to-point messages from the peer that were taken in order.
    /// Point-to-point messages that came before a message sent earlier, in the order of the stream (Engine::set_aside()).
    EarlyMessage* overtaking = nullptr;
    node::Outbox* outbox = nullptr;     ///< The way of short messages to a peer that shares memory, once there have been some.
    std::uint16_t told = 0, heard = 0;  ///< Control messages to and from the peer that letters must not overtake (modulo 65536).
    std::uint32_t receives = 0;         ///< Point-to-point receives from the peer that were begun (modulo 2^32).
    std::uint32_t offers = 0;           ///< Large point-to-point messages offered to the peer that it has not taken.
    Nanoseconds looked_for = -1;        ///< When the program last looked for a message from the peer and found none; -1: not of late.
    bool accepts_data = true;           ///< Whether eager messages to it may carry data.
    bool over_tcp = false;              ///< Messages to it go over TCP.
    bool backlogged = false;            ///< Point-to-point sends to it wait here.
    bool works_off = false;             ///< The backlog to this peer is being worked off.
    bool has_backlog = false;           ///< Point-to-point sends from the peer to this rank wait at the peer.
};

/// Dense for jobs of the usual size. Sparse where a process of a very large job (or of a simulation) talks to few peers.
class PeerTable {
  public:
    PeerTable(int size, const PeerState& initial) : initial_(initial) {
        if (size <= kDense) dense_.assign(static_cast<std::size_t>(size), initial);
    }
    PeerState& operator[](int peer) {
        if (!dense_.empty()) return dense_[static_cast<std::size_t>(peer)];
        for (std::size_t i = 0; i < few_count_; ++i)
            if (few_[i].peer == peer) return few_[i].state;
        if (few_count_ < kFew) {
            few_[few_count_] = {peer, initial_};
            return few_[few_count_++].state;
        }
        return sparse_.try_emplace(peer, initial_).first->second;
    }
    template <class F>
    void for_each(F&& visit) {
        for (std::size_t i = 0; i < dense_.size(); ++i) visit(static_cast<int>(i), dense_[i]);
        for (std::size_t i = 0; i < few_count_; ++i) visit(few_[i].peer, few_[i].state);
        for (auto& [peer, state] : sparse_) visit(peer, state);
    }

  private:
    static constexpr int kDense = 1024;
    PeerState initial_;
    std::vector<PeerState> dense_;
    std::unordered_map<int, PeerState> sparse_;  ///< References stay valid when it grows.
    // The first few peers of a sparse table. Most ranks of a large tree have no more peers, so that no other memory is read.
    struct Few {
        int peer = -1;
        PeerState state;
    };
    static constexpr std::size_t kFew = 4;
    std::array<Few, kFew> few_;
    std::size_t few_count_ = 0;
};

}  // namespace rollcall::runtime
