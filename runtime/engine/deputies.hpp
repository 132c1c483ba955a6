/// \file
/// The parts of this rank that run without their callers (deputy.hpp): when they begin, when callers leave their parts to them, and what
/// they give to callers that come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/engine/deputy.hpp"
#include "runtime/messages/early_message.hpp"
#include "runtime/messages/match_table.hpp"

namespace rollcall::runtime {

class Engine;

/// Owner-only. The engine owns it, and calls it where its functions say so.
class Deputies {
  public:
    explicit Deputies(Engine& engine) noexcept : engine_(engine) {}

    /// Deputies whose operations are under way.
    std::uint64_t under_way() const noexcept { return active_; }
    /// Deputies that a message has begun, so far.
    std::uint64_t begun_early() const noexcept { return begun_early_; }
    /// Callers that wait for a deputy.
    std::uint64_t attached_callers() const noexcept { return attached_callers_; }
    /// Whether there are deputies whose callers have not come.
    bool any_expected() const noexcept { return expected_.size() > 0; }
    /// Returns the deputy of this call if its caller has not come; null: there is none.
    Deputy* expected(const CallKey& call) const { return expected_.find(call); }

    /// This early message has no operation here. Notes its call if the part may begin before its caller, and returns whether that is so.
    /// Then begin_early_calls() begins the part: not here, because the transport is busy where a message comes in.
    bool begins_with(const CommunicatorState& communicator, const EarlyMessage& early);
    void begin_early_calls();
    /// A caller begins. Returns whether a deputy does, or has done, what it wants to do; then the caller is attached to it.
    bool meet(Operation& caller);
    /// A caller begins. Hands its data over to a deputy, so that it can leave. Returns whether it did.
    bool hand_over(Operation& caller);
    /// A caller that stayed (hand_over()) has ended: notes how long it has waited.
    void learn_wait(const Operation& caller);
    /// The caller gives up. Returns whether its deputy does its part, or whether it ends with a copy that is under way.
    bool leave(Operation& caller, const Error& error);
    /// The caller of something that ends without it: it is done.
    void let_caller_go(Operation& caller);
    /// Copies some of what has come for a caller that waits for the rest. Returns the number of copies.
    unsigned copy_for_callers();

    /// \{
    /// Gives up the deputies of this communicator whose callers have not come, or frees those of them that have ended with an error.
    void give_up_all_of(const CommunicatorState& communicator);
    void let_go_of_ended(const CommunicatorState& communicator);
    /// \}
    /// No more callers come: calls that other ranks have made without this one do not match.
    void deny_uncalled();
    /// Frees all, without telling anybody.
    void free_all() noexcept;

  private:
    friend class Deputy;

    Deputy* make(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const PartAlone& part, const Block* blocks,
                 bool phantom, int source);
    void begin(Deputy& deputy);
    void attach(Operation& caller, Deputy& deputy);  ///< From now on the caller waits for the deputy.
    void on_end(Deputy& deputy);
    void give_up(Deputy& deputy);
    void let_go(Deputy& deputy);
    bool publishes_at_once(const Operation& caller) const;
    /// Whether a copy takes less time than the caller would wait if it stayed. If it stays, learn_wait() notes how long it has waited.
    bool pays_to_leave(Operation& caller, const PartAlone& part);

    Engine& engine_;
    std::vector<EarlyCall> early_calls_;           ///< Calls whose first message came before their caller.
    MatchTable<Deputy, Deputy::ByCall> expected_;  ///< Deputies whose caller has not come.
    Deputy* first_ = nullptr;                      ///< The list of all deputies.
    std::uint64_t active_ = 0, begun_early_ = 0, attached_callers_ = 0;
};

}  // namespace rollcall::runtime
