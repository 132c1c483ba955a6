/// \file
/// Point-to-point sends that wait at their sender, because their receiver has enough early messages of this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "runtime/lane/match_table.hpp"
#include "runtime/lane/transfer.hpp"

namespace rollcall::runtime {

/// What an early message costs its receiver is bounded by credits (eager ones) and by the number of offers (large ones). What goes
/// beyond waits here, in the order of the calls. But the receiver may take messages in another order: so it is told that there is a
/// backlog, and while there is one it asks for the message of each receive that it posts. A message that is asked for goes at once.
/// Messages of one key never overtake each other: either some of them wait, or some are wanted.
///
/// Knows no transport. Owner-only. Transfers are not owned.
class Backlog {
  public:
    /// As the last one to its peer.
    void push(Transfer& transfer);
    /// The first one to this peer, or null.
    Transfer* first(int peer) const {
        const auto found = by_peer_.find(peer);
        return found == by_peer_.end() ? nullptr : found->second.head;
    }
    void remove(Transfer& transfer);
    /// The receiver asks for a message of this key: the oldest one, which leaves; or null, and the next one of this key will be wanted.
    Transfer* ask_for(const MatchKey& key);
    /// Whether the receiver has asked for a message of this key that was not there; it counts as given now.
    bool give(const MatchKey& key);
    /// Nothing waits for this peer any more: what it has asked for does not count.
    void forget(int peer) { by_peer_.erase(peer); }

  private:
    struct Hash {
        std::size_t operator()(const MatchKey& key) const noexcept { return key.hash(); }
    };
    struct Waiting {
        Transfer* head = nullptr;  ///< Linked by Transfer::next and previous.
        Transfer* tail = nullptr;
        std::unordered_map<MatchKey, std::uint32_t, Hash> wanted;
    };
    std::unordered_map<int, Waiting> by_peer_;
    MatchTable<Transfer> by_key_;
};

}  // namespace rollcall::runtime
