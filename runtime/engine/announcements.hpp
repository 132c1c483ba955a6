/// \file
/// Tells the ranks of a communicator that it failed here.
#pragma once

#include <cstdint>
#include <vector>

#include <rollcall/error.hpp>
#include <rollcall/time.hpp>

namespace rollcall::runtime {

struct CommunicatorState;
class Engine;

/// A rank at which a communicator fails tells all other ranks of it, in rounds. The ranks that follow it come first, and each round tells
/// twice as many as the round before.
///
/// If a job is stuck, all its ranks may give up at once. Then nearly every rank hears in its first pause that a lower rank tells all ranks,
/// too, and leaves the rest to that one. So n ranks send a small multiple of n messages, and not n². The lowest rank leaves nothing to
/// others. A rank that has failed from an earlier call on counts as lower, because no other one tells what it tells.
///
/// Owner-only. The engine calls begin(), and after that tick() whenever its time has come. Sends come after the announcements to their
/// targets.
class Announcements {
  public:
    explicit Announcements(Engine& engine) noexcept : engine_(engine) {}

    bool any() const noexcept { return !under_way_.empty(); }
    /// Whether this rank has more ranks to tell, and does not leave them to another one.
    bool any_round() const noexcept;
    /// The communicator has failed here. Tells the first ranks.
    void begin(const CommunicatorState& communicator);
    /// Another rank of the communicator tells all ranks that it has failed from sequence number `from` on. If it is lower, the rest is left
    /// to it, except for peers to which this rank sends something before.
    void hear(const CommunicatorState& communicator, std::uint64_t from, int rank);
    /// A send to this peer begins: the peer is told first.
    void tell_before_send(int peer);
    /// The communicator is about to be removed. Tells all ranks that have not been told.
    void end(const CommunicatorState& communicator);
    /// Tells the next ranks. Returns when to call it again; kNever: all have been told.
    Nanoseconds tick(Nanoseconds now);

  private:
    struct Announcement {
        const CommunicatorState* communicator;
        std::uint64_t from;
        Error error;
        int told = 0;                            ///< So many of the ranks that follow this one.
        int next_round;                          ///< So many ranks are told in the next round.
        Nanoseconds due{};                       ///< When the next round begins. kNever: the rest is left to a lower rank.
        std::vector<int> told_before_send = {};  ///< Of these. World ranks, in ascending order.
    };
    /// Tells this many ranks, or all the rest. Returns whether all have been told.
    bool tell(Announcement& announcement, int most) const;
    template <class Over>
    void erase_if(Over over);

    Engine& engine_;
    std::vector<Announcement> under_way_;
};

}  // namespace rollcall::runtime
