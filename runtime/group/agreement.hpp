/// \file
/// How the ranks of a group that are left after failures agree on which they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/group/group.hpp"

namespace rollcall::runtime {

/// What the ranks have agreed on.
struct Survivors {
    std::uint64_t id = 0;                    ///< The highest number that one of them gave.
    std::vector<int> ranks;                  ///< Members of the group, in ascending order.
    std::vector<std::uint64_t> first_slots;  ///< What each of them gave.
    std::vector<int> lost;                   ///< The members that are lost, in ascending order. Others have no part in the agreement.

    bool have(int member) const;
};

/// One member's part of an agreement, without any input or output. The lowest member that is left leads: it asks all others, and when each
/// of them has answered or is lost, it decides and tells them. If it is lost, the next one leads. That one is told of an earlier decision
/// by whoever has heard of it, and then decides the same.
///
/// Why there are no two decisions: a member that has answered a leader takes no decision of a lower one any more, also if it leads later.
/// So when a leader has all answers, either one of them is an earlier decision, or no living member has heard of one and none will take
/// one. (A member that has heard of a decision and is lost does no harm: nobody else acts on it.)
///
/// Why every member gets the decision: a member that has it passes it on to a leader that asks as if that one had taken it, and to others
/// as its own if it is the lowest of those in it that are left. No leader in between can have decided otherwise, because it needed the
/// answer of this member.
///
/// Both need that all members notice a failure, and that nobody notices one that did not happen. If two living ranks take each other for
/// lost, one of them may be left out: see is_left_out(). In the worst case two communicators have different members.
///
/// Example: 0 is lost, so 1 asks 2 and 3. Both answer, 1 decides {1, 2, 3}, tells 2, and dies. 2 has the decision. 3 expects 2 to lead and
/// says so; 2 answers with the decision.
class Agreement {
  public:
    /// What a member brings: its proposal for the id of the new communicator, and the first of its slots.
    struct Part {
        std::uint64_t number = 0, first_slot = kNoSlots;
    };
    enum class Says : std::uint8_t {
        waits,     ///< "I am here and expect you to lead." Also asks for a decision.
        asks,      ///< "I lead: are you here?"
        answers,   ///< "I am here", with the Part.
        decided,   ///< With the decision, and the member that led when it was taken.
        is_absent  ///< "I have no part in this, and never will."
    };
    struct Message {
        Says says;
        int to = -1;
        int leader = -1;                                 ///< With `decided`.
        Part part{};                                     ///< With `answers`.
        std::shared_ptr<const Survivors> decision = {};  ///< With `decided`.
    };
    using Messages = std::vector<Message>;

    /// The part of member `rank` of a group of `size`.
    Agreement(int size, int rank);

    /// \{
    /// What happens. The messages that follow are appended to `out`. `enter`: this member's caller has come. `lose`: a member is lost.
    /// `remind`: a time has passed without a decision.
    void enter(Part mine, Messages& out);
    void lose(int member, Messages& out);
    void hear(int from, const Message& message, Messages& out);
    void remind(Messages& out);
    /// \}

    bool has_entered() const noexcept { return mine_.has_value(); }
    /// Null: there is none yet.
    const std::shared_ptr<const Survivors>& decision() const noexcept { return decision_; }
    /// The others have decided without this member, because they took it for lost.
    bool is_left_out() const noexcept { return is_left_out_; }
    /// The members from which this one needs a message.
    std::vector<int> awaited() const;

  private:
    int lowest_left() const;
    void go_on(Messages& out);
    void decide_if_all_answered(Messages& out);
    void decide(std::shared_ptr<const Survivors> decision, int leader, Messages& out);
    bool is_over() const noexcept { return decision_ || is_left_out_; }
    bool is_left(int member) const { return !lost_[static_cast<std::size_t>(member)]; }
    bool is_missing(int member) const { return member != rank_ && is_left(member) && !answers_[static_cast<std::size_t>(member)]; }

    int rank_;
    std::vector<bool> lost_, absent_;  ///< An absent member counts as lost, too.
    std::optional<Part> mine_;
    bool leads_ = false;
    std::vector<std::optional<Part>> answers_;  ///< Of each member, while this one leads and has not decided.
    int missing_ = 0;                           ///< The number of answers that it waits for.
    int expected_ = -1;                         ///< The member that was told that this one expects it to lead.
    int asked_by_ = -1;                         ///< The highest leader that has asked. With `mine_` it has been answered.
    int reminded_ = 0;
    int leader_ = -1;  ///< Of the decision.
    bool is_left_out_ = false;
    std::shared_ptr<const Survivors> decision_;
};

}  // namespace rollcall::runtime
