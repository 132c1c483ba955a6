#include "runtime/group/agreement.hpp"

#include <algorithm>

namespace rollcall::runtime {

bool Survivors::have(int member) const { return std::ranges::binary_search(ranks, member); }

Agreement::Agreement(int size, int rank) : rank_(rank), lost_(static_cast<std::size_t>(size)), absent_(lost_) {}

int Agreement::lowest_left() const { return static_cast<int>(std::ranges::find(lost_, false) - lost_.begin()); }

std::vector<int> Agreement::awaited() const {
    if (!mine_ || is_over()) return {};
    if (!leads_) return {lowest_left()};
    std::vector<int> members;
    for (int member = 0; member < static_cast<int>(lost_.size()); ++member)
        if (is_missing(member)) members.push_back(member);
    return members;
}

void Agreement::enter(Part mine, Messages& out) {
    mine_ = mine;
    if (is_over()) return;
    if (asked_by_ >= 0) out.push_back({.says = Says::answers, .to = expected_ = asked_by_, .part = mine});
    go_on(out);
}

void Agreement::lose(int member, Messages& out) {
    if (member == rank_ || !is_left(member)) return;
    if (leads_ && !is_over() && is_missing(member)) --missing_;
    lost_[static_cast<std::size_t>(member)] = true;
    if (mine_ && !is_over()) go_on(out);
}

void Agreement::go_on(Messages& out) {
    const int leader = lowest_left();
    if (leader == rank_) {
        if (!leads_) {
            leads_ = true;
            answers_.resize(lost_.size());
            const std::vector<int> members = awaited();
            for (const int member : members) out.push_back({.says = Says::asks, .to = member});
            missing_ = static_cast<int>(members.size());
        }
        decide_if_all_answered(out);
    } else if (leader != expected_) {
        expected_ = leader;
        out.push_back({.says = Says::waits, .to = leader});
    }
}

void Agreement::decide_if_all_answered(Messages& out) {
    if (missing_ > 0) return;
    auto decision = std::make_shared<Survivors>();
    answers_[static_cast<std::size_t>(rank_)] = mine_;
    for (int member = 0; member < static_cast<int>(lost_.size()); ++member) {
        if (!is_left(member)) {
            if (!absent_[static_cast<std::size_t>(member)]) decision->lost.push_back(member);
            continue;
        }
        const Part& part = *answers_[static_cast<std::size_t>(member)];
        decision->id = std::max(decision->id, part.number);
        decision->ranks.push_back(member);
        decision->first_slots.push_back(part.first_slot);
    }
    decide(std::move(decision), rank_, out);
}

void Agreement::decide(std::shared_ptr<const Survivors> decision, int leader, Messages& out) {
    decision_ = std::move(decision);
    leader_ = leader;
    answers_ = {};
    if (!leads_) return;
    for (const int member : decision_->ranks)
        if (member != rank_ && is_left(member))
            out.push_back({.says = Says::decided, .to = member, .leader = leader_, .decision = decision_});
}

void Agreement::hear(int from, const Message& message, Messages& out) {
    switch (message.says) {
        case Says::waits:
        case Says::asks:
            if (message.says == Says::asks && from >= asked_by_ && !is_left_out_) {
                asked_by_ = from;
                if (mine_ && !decision_) out.push_back({.says = Says::answers, .to = from, .part = *mine_});
            }
            if (decision_) {
                // A member that has no part cannot lead, and this one may not know that it has none.
                const bool is_lowest = std::ranges::find_if(decision_->ranks, [&](int member) { return is_left(member); }) ==
                                       std::ranges::find(decision_->ranks, rank_);
                const int leader = message.says == Says::asks ? from : is_lowest ? rank_ : leader_;
                out.push_back({.says = Says::decided, .to = from, .leader = leader, .decision = decision_});
            }
            return;
        case Says::answers:
            if (!leads_ || is_over()) return;
            if (is_missing(from)) --missing_;
            answers_[static_cast<std::size_t>(from)] = message.part;
            return decide_if_all_answered(out);
        case Says::decided:
            if (is_over()) return;
            if (!message.decision->have(rank_))
                is_left_out_ = true;
            else if (mine_ && message.leader >= asked_by_)
                decide(message.decision, leads_ ? rank_ : message.leader, out);
            return;
        case Says::is_absent:
            if (is_left(from)) absent_[static_cast<std::size_t>(from)] = true;
            return lose(from, out);
    }
}

// A leader asks again: a rank that was still making the communicator has not kept the question. The others ask their leader, and one after
// the other whether they know of a decision, because this rank may be one that was left out.
void Agreement::remind(Messages& out) {
    if (!mine_ || is_over()) return;
    const std::vector<int> members = awaited();
    for (const int member : members) out.push_back({.says = leads_ ? Says::asks : Says::waits, .to = member});
    if (leads_) return;
    for (std::size_t i = 0; i < lost_.size(); ++i) {
        const int member = (rank_ + ++reminded_) % static_cast<int>(lost_.size());
        if (member == rank_ || member == members.front() || !is_left(member)) continue;
        out.push_back({.says = Says::waits, .to = member});
        return;
    }
}

}  // namespace rollcall::runtime
