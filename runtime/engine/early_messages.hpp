/// \file
/// The early messages of an engine (runtime/messages/early_message.hpp): where they wait, how they land, and how they are dropped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/messages/early_message.hpp"
#include "runtime/messages/match_table.hpp"

namespace rollcall::runtime {

class Engine;
struct CommunicatorState;

/// Owner-only. The engine owns it.
class EarlyMessages {
  public:
    explicit EarlyMessages(Engine& engine) noexcept : engine_(engine) {}

    /// The messages by their keys, and those of collectives by their calls. A message that came before its turn is in neither (PeerState).
    const MatchTable<EarlyMessage>& by_key() const noexcept { return by_key_; }
    const MatchTable<EarlyMessage, ByCall>& by_call() const noexcept { return by_call_; }

    /// Calls `visit` with each message of this call.
    template <class F>
    void for_each_of(const CallKey& call, F&& visit) {
        by_call_.for_each_of(call, visit);
    }

    void insert(EarlyMessage& early);
    /// There was no memory to give it to its receive. It waits for the next one, as the oldest of its key.
    void wait_again(EarlyMessage& early);
    /// Removes the message from the tables and the list, because a receive wants it now or none ever will.
    void forget(EarlyMessage& early);
    /// \{
    /// Frees messages that are not wanted. Their senders get back what they cost.
    void let_go(EarlyMessage& early);     ///< It must be forgotten.
    void let_go_of(const CallKey& call);  ///< With sequence 0: of the communicator's point-to-point messages.
    void let_go_of_broken(const CommunicatorState& communicator);
    void let_go_of_past();  ///< Of communicators that do not exist here and never will.
    void let_go_of_all();
    /// \}
    void free(EarlyMessage& early);  ///< It must be forgotten. Its sender is not told.
    void free_all();                 ///< For the destructor of the engine.

    /// An offered message begins to land if there is room. Otherwise it waits for room, if it may land. Returns whether it has begun.
    bool land(EarlyMessage& early);
    bool any_waits_for_room() const noexcept { return waiting_head_ != nullptr; }
    /// There may be room now for messages that wait for it.
    void land_waiting() {
        if (waiting_head_) land_those_that_fit();
    }
    void stop_landing() noexcept { lands_waiting_ = true; }  ///< From now on no message that waits for room lands.
    void after_landing(EarlyMessage& early, transport::Outcome outcome);

  private:
    template <class Unwanted>
    void let_go_if(Unwanted unwanted);
    void let_go_all(EarlyMessage* forgotten);
    void wait_for_room(EarlyMessage& early) noexcept;
    void stop_waiting_for_room(EarlyMessage& early) noexcept;
    bool land_now(EarlyMessage& early);
    void land_those_that_fit();

    MatchTable<EarlyMessage> by_key_;  // first: every receive looks here
    Engine& engine_;
    MatchTable<EarlyMessage, ByCall> by_call_;
    EarlyMessage *waiting_head_ = nullptr, *waiting_tail_ = nullptr;  ///< Messages that wait for room to land, in order of arrival.
    bool lands_waiting_ = false;                                      ///< land_those_that_fit() is running.
};

}  // namespace rollcall::runtime
