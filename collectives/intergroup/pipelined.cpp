// Reduce and allreduce between two groups, in pieces. The chain is that of the pipelined reduce (../reduce/pipelined.cpp).
//
// Idea: the elements are cut into X pieces. The ranks of a group form a chain that ends at its first rank. Each rank combines a piece with
// its own as soon as it has received it, and passes the result on. The first rank passes the pieces to the root, or, in an allreduce, to
// the first rank of the other group. From there they run through that group, from each rank to the next one. Each link carries the elements
// once in a reduce, and twice in an allreduce: what is combined, and the result. Operands stay in rank order.
//
// Example: p = 2, q = 1, X = 2 pieces that take 1 each, all ranks arrive at 0. Reduce to b0: a1 sends its pieces to a0 until 1 and 2, and
// a0 sends the sums to b0 until 2 and 3. Allreduce: a0 receives two pieces from a1 and two from b0, until 4. b0 has the sums at 4. a0
// passes the last piece of b0 on to a1 until 5.
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/rooted.hpp"
#include "collectives/pieces.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {
namespace {

constexpr int kNobody = -1;

bool all_done(const std::vector<Pending>& transfers) {
    return std::all_of(transfers.begin(), transfers.end(), [](const Pending& one) { return one.done(); });
}

/// How the elements are cut. The answer is the same on all ranks.
Pieces pieces_of(const Operation& op, std::uint64_t bytes, int ranks) {
    const std::uint64_t segment = chain_between_nodes(op, bytes, ranks);
    return {op, bytes, op.arguments().combiner.whole_elements(segment)};
}

/// The pieces that a rank combines with its own and passes on. `before` is kNobody at the beginning of a chain.
class Combining {
  public:
    static constexpr std::uint64_t kSteps = 0;

    Combining(Operation& op, const Pieces& pieces, transport::ConstBytes own, int before, int after)
        : op_(op),
          pieces_(pieces),
          before_(before),
          after_(after),
          own_(own),
          memory_(before == kNobody ? 0 : pieces.room(), own_),
          incoming_(pieces.window()),
          outgoing_(pieces.window()) {
        receive_ahead();
    }
    bool complete() const { return number_ == pieces_.count(); }
    bool can_go_on() {
        receive_ahead();
        if (complete() || !outgoing_[pieces_.at(number_)].done()) return false;
        return before_ == kNobody || (number_ < posted_ && incoming_[pieces_.at(number_)].done());
    }
    /// Combines the next piece. Await it, and then pass_on().
    Pending combine() {
        if (before_ == kNobody) return {};
        return op_.combine(slot(number_), pieces_.of(own_, number_), slot(number_));
    }
    void pass_on() {
        const transport::ConstBytes piece = before_ == kNobody ? pieces_.of(own_, number_) : transport::ConstBytes(slot(number_));
        outgoing_[pieces_.at(number_)] = op_.send(after_, piece, kSteps + number_);
        ++number_;
    }
    bool has_left() const { return complete() && all_done(outgoing_); }

  private:
    transport::Bytes slot(std::uint64_t number) const { return pieces_.slot(memory_.bytes(), number); }
    void receive_ahead() {
        if (before_ == kNobody) return;
        // The piece that was in the slot before has left.
        for (; posted_ < std::min(pieces_.count(), number_ + pieces_.window()) && outgoing_[pieces_.at(posted_)].done(); ++posted_)
            incoming_[pieces_.at(posted_)] = op_.receive(before_, slot(posted_), kSteps + posted_);
    }

    Operation& op_;
    const Pieces& pieces_;
    int before_, after_;
    transport::ConstBytes own_;
    Scratch memory_;
    std::uint64_t posted_ = 0, number_ = 0;
    std::vector<Pending> incoming_, outgoing_;
};

/// The pieces of the result, which a rank receives and passes on. `after` is kNobody at the end.
class Passing {
  public:
    static constexpr std::uint64_t kSteps = std::uint64_t{1} << 32;

    Passing(Operation& op, const Pieces& pieces, int before, std::uint64_t step, int after)
        : op_(op), pieces_(pieces), before_(before), after_(after), step_(step), incoming_(pieces.window()), outgoing_(pieces.window()) {
        receive_ahead();
    }
    bool complete() const { return number_ == pieces_.count(); }
    bool can_go_on() const { return !complete() && incoming_[pieces_.at(number_)].done() && outgoing_[pieces_.at(number_)].done(); }
    void go_on() {
        if (after_ != kNobody)
            outgoing_[pieces_.at(number_)] = op_.send(after_, pieces_.of(op_.arguments().data, number_), kSteps + number_);
        ++number_;
        receive_ahead();
    }
    bool has_left() const { return complete() && all_done(outgoing_); }

  private:
    void receive_ahead() {
        for (; posted_ < std::min(pieces_.count(), number_ + pieces_.window()); ++posted_)
            incoming_[pieces_.at(posted_)] = op_.receive(before_, pieces_.of(op_.arguments().data, posted_), step_ + posted_);
    }

    Operation& op_;
    const Pieces& pieces_;
    int before_, after_;
    std::uint64_t step_;
    std::uint64_t posted_ = 0, number_ = 0;
    std::vector<Pending> incoming_, outgoing_;
};

}  // namespace

Task intergroup_reduce_pipelined(Operation& op) {
    const RootedPart part(op);
    if (!part.takes_part()) co_return;
    const std::uint64_t bytes = part.is_root ? op.arguments().data.size : op.arguments().contribution.size;
    const Pieces pieces = pieces_of(op, bytes, part.others.size + 1);
    if (part.is_root) {
        Passing result(op, pieces, part.others.rank(0), Combining::kSteps, kNobody);
        while (!result.complete()) {
            co_await op.until([&] { return result.can_go_on(); });
            result.go_on();
        }
        co_return;
    }
    const int member = part.sides.member;
    Combining combining(op, pieces, op.arguments().contribution, member + 1 < part.others.size ? part.others.rank(member + 1) : kNobody,
                        member > 0 ? part.others.rank(member - 1) : op.root());
    while (!combining.complete()) {
        co_await op.until([&] { return combining.can_go_on(); });
        co_await combining.combine();
        combining.pass_on();
    }
    co_await op.until([&] { return combining.has_left(); });
}

Task intergroup_allreduce_pipelined(Operation& op) {
    const Sides sides = sides_of(op);
    transport::ConstBytes own = op.arguments().contribution;
    const Pieces pieces = pieces_of(op, own.size, op.size());
    // The result is written while the contribution is read.
    std::optional<Scratch> beside;
    if (own.data && own.data == op.arguments().data.data) {
        beside.emplace(own.size, own);
        co_await op.copy(beside->bytes(), own);
        own = beside->bytes();
    }
    const int next = sides.member + 1 < sides.own.size ? sides.own.rank(sides.member + 1) : kNobody;
    const bool is_first = sides.member == 0;
    const int before = is_first ? sides.other.rank(0) : sides.own.rank(sides.member - 1);
    Combining combining(op, pieces, own, next, before);
    Passing result(op, pieces, before, is_first ? Combining::kSteps : Passing::kSteps, next);
    while (!combining.has_left() || !result.has_left()) {
        bool combines = false, passes = false;
        co_await op.until([&] {
            combines = combining.can_go_on();
            passes = result.can_go_on();
            return combines || passes || (combining.has_left() && result.has_left());
        });
        if (passes) result.go_on();
        if (!combines) continue;
        co_await combining.combine();
        combining.pass_on();
    }
}

}  // namespace rollcall::collectives
