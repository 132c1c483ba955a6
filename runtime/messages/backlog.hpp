/// \file
/// Point-to-point sends that wait at their sender because their receiver already holds enough early messages of this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "runtime/messages/match_table.hpp"
#include "runtime/messages/transfer.hpp"

namespace rollcall::runtime {

/// The cost of early messages for their receiver is bounded: by credits for eager messages, and by the number of offers for large ones.
/// Sends beyond these bounds wait here, in the order of the calls. The receiver may take messages in another order. So the sender tells it
/// that there is a backlog, and while there is one, the receiver asks for the message of each receive that it posts. A message that is
/// asked for is sent at once. Messages of one key never overtake each other: at any time either some of them wait, or some are wanted, but
/// not both.
///
/// Knows no transport. Owner-only. The backlog does not own the transfers.
class Backlog {
  public:
    /// Appends the transfer to those that wait for its peer.
    void push(Transfer& transfer);
    /// Puts a transfer back that first() has given and remove() has removed. Needs no memory.
    void push_first(Transfer& transfer);
    /// The first transfer that waits for this peer, or null.
    Transfer* first(int peer) const {
        const auto found = by_peer_.find(peer);
        return found == by_peer_.end() ? nullptr : found->second.head;
    }
    void remove(Transfer& transfer);
    /// The receiver asks for a message of this key. Removes and returns the oldest one; or returns null, and the next one of this key will
    /// be wanted.
    Transfer* ask_for(const MatchKey& key);
    /// Whether the receiver has asked for a message of this key that was not there. If so, one such request counts as met from now on. The
    /// receiver also takes a request back by this, because what it has given up must not let later messages go beyond the bounds.
    bool give(const MatchKey& key);
    /// Nothing waits for this peer any more: its open requests no longer count.
    void forget(int peer) { by_peer_.erase(peer); }

    // At the receiver: a program looks for a message again and again, and asks for it only once. What it does not take is one message for
    // each key at most.

    /// Whether a look for the next message of this key, which is not here, should ask for it. It counts as asked from now on. False: it has
    /// been asked for already, and no message of this key has come and gone since.
    bool may_look(const MatchKey& key) { return looked_for_.insert(key).second; }
    /// An early message of this key is no longer here.
    void has_come(const MatchKey& key) {
        if (!looked_for_.empty()) [[unlikely]]
            looked_for_.erase(key);
    }
    /// The peer has no backlog any more. What was asked of it no longer counts.
    void forget_looks(int peer) {
        std::erase_if(looked_for_, [&](const MatchKey& key) { return key.source == peer; });
    }

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
    std::unordered_set<MatchKey, Hash> looked_for_;
};

}  // namespace rollcall::runtime
