/// \file
/// Blocks on their way round a ring of ranks, of which each rank passes on each block when it comes, in no fixed order. What comes before
/// the caller is passed on from where it has landed, so a late rank keeps back its own block only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "runtime/engine/among.hpp"
#include "runtime/engine/listed_receives.hpp"

namespace rollcall::collectives {

class Dissemination {
  public:
    /// The blocks are numbered like the `count` places in the ring. This rank has block `own`. `next` and `previous` are ranks of the
    /// communicator. The step of a message is the number of its block.
    Dissemination(Operation& op, int next, int previous, int own, int count);

    /// Passes on what lands, until the buffers of the operation are there. No Among may live.
    friend Task pass_on_until_buffers(Operation& op, Dissemination& ring);
    /// Receives the other blocks: `place` says where, by number. Called once the buffers are there, while no Among lives.
    void receive(const std::function<transport::Bytes(int number)>& place);
    /// Sends this rank's own block. From now on what has landed is copied only when this block has left.
    void send_own(transport::ConstBytes block);

    /// Whether go_on() has something to do: a block that has come, or a landed one to copy.
    bool can_go_on() const { return receives_.any() || can_copy(); }
    /// Passes one block on, or copies it to its place.
    friend Task go_on(Operation& op, Dissemination& ring);
    /// Goes on until this rank's caller has arrived.
    friend Task go_on_until_arrival(Operation& op, Dissemination& ring);
    /// Goes on until this rank has all other blocks in their places. send_own() has been called.
    friend Task go_on_until_complete(Operation& op, Dissemination& ring);
    /// Waits until all that this rank sends has left. Called after go_on_until_complete().
    friend Task all_sent(Operation& op, Dissemination& ring);
    /// How many blocks it has looked at, to find out which have come or can be copied. Tests use it to check the cost.
    std::uint64_t looked_at() const { return looked_at_; }

  private:
    struct Kept {
        runtime::Landed block;
        transport::Bytes place;
        Pending sending;
    };
    bool is_last(int number) const { return number == (own_ + 1) % count_; }
    /// Whether the first landed block may be copied now, after which it is no longer kept. (They leave one after the other, to one rank.)
    bool can_copy() const { return !kept_.empty() && (++looked_at_, own_sending_.done() && kept_.front().sending.done()); }
    Pending pass_on(int number, transport::ConstBytes block);

    Operation& op_;
    int next_, previous_, own_, count_;
    runtime::ListedReceives receives_;
    std::vector<transport::Bytes> coming_;  ///< Where the blocks go that receives_ brings, by number.
    int awaited_ = 0;                       ///< How many of these have not been passed on.
    std::deque<Kept> kept_;                 ///< Landed blocks, until they have been sent and copied.
    std::vector<Pending> sending_;
    Pending own_sending_;
    mutable std::uint64_t looked_at_ = 0;
};

Task pass_on_until_buffers(Operation& op, Dissemination& ring);
Task go_on(Operation& op, Dissemination& ring);
Task go_on_until_arrival(Operation& op, Dissemination& ring);
Task go_on_until_complete(Operation& op, Dissemination& ring);
Task all_sent(Operation& op, Dissemination& ring);

}  // namespace rollcall::collectives
