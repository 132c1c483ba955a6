// Online reduce: Clairvoyant without predictions (collectives/schedules/online.hpp). Our own.
//
// Idea: the root learns from its board which ranks have arrived, and decides transfer by transfer which of them sends which piece to which
// other one. It tells both ranks. The receiver combines the piece with its own, and tells the root, which then decides what comes next. So
// the elements of the ranks that are there are combined while others are still missing, in whatever order they come, and no rank waits for
// one that is late. A rank leaves after the last piece that it sends. Each transfer takes one to three short messages besides its data, so
// pieces should be long: a piece of 64 KiB takes as long as some ten short messages at 10 Gbit/s, and as long as some hundred at 1 Gbit/s.
//
// Example: 3 ranks, root 0, two pieces. 1 and 2 are there: the root orders 2 -0-> 1 and 1 -1-> 2. Both receivers combine, and report. The
// caller of the root comes: 1 -0-> 0, and 0 -1-> 2, which has piece 1 of the two others. Both end: 2 -1-> 0, which replaces what 0 has
// sent.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/arrivals/foresight.hpp"
#include "collectives/combining/carry_out.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/schedules/online.hpp"

namespace rollcall::collectives {
namespace {

using runtime::Pending;
using transport::Bytes;
using transport::ConstBytes;

enum class Work : std::int32_t { send, combine, replace };

/// What the root tells a rank to do.
struct Order {
    Work work = Work::send;
    std::int32_t peer = 0, segment = 0;
    std::int32_t is_last = 0;    ///< The rank gets no other order.
    std::uint64_t transfer = 0;  ///< Its number among all transfers.
};
static_assert(sizeof(Order) == 24, "it travels: without padding");

// The steps of the messages: orders and reports count for each rank, and data for the operation.
std::uint64_t step_of_order(std::uint64_t number) { return 3 * number; }
std::uint64_t step_of_report(std::uint64_t number) { return 3 * number + 1; }
std::uint64_t step_of_data(std::uint64_t number) { return 3 * number + 2; }

/// The pieces of one rank, and the transfers in which it takes part: at most one out of it and one into it at a time. (Tasks are given
/// their operation first.)
class Worker {
  public:
    Worker(ConstBytes contribution, std::vector<Share> pieces, Bytes own)
        : contribution_(contribution), pieces_(std::move(pieces)), own_(own), is_touched_(pieces_.size()), sending_(pieces_.size()) {
        std::uint64_t longest = 0;
        for (const Share& piece : pieces_) longest = std::max(longest, piece.size());
        received_.emplace(longest, contribution);
    }

    int pieces() const { return static_cast<int>(pieces_.size()); }

    /// Begins what the order says.
    static Task begin(Operation& op, Worker& worker, Order order) {
        const auto number = static_cast<std::size_t>(order.segment);
        // A piece that was sent away and comes back has been taken. The transport may still have to say so.
        co_await worker.sending_[number];
        if (order.work == Work::send) {
            worker.sending_[number] = op.send(order.peer, worker.value(number), step_of_data(order.transfer));
            co_return;
        }
        const Bytes into = order.work == Work::combine ? worker.scratch(number) : worker.place(number);
        worker.incoming_ = order;
        worker.coming_ = op.receive(order.peer, into, step_of_data(order.transfer));
    }

    /// Whether the piece has come that finish() makes part of this rank's own.
    bool has_come() const { return incoming_ && coming_.done(); }
    static Task finish(Operation& op, Worker& worker) {
        const Order order = *std::exchange(worker.incoming_, std::nullopt);
        const auto number = static_cast<std::size_t>(order.segment);
        co_await worker.coming_;
        if (order.work == Work::combine) {
            const ConstBytes come = worker.scratch(number), mine = worker.value(number);
            const bool comes_left = order.peer < op.rank();
            co_await op.combine(worker.place(number), comes_left ? come : mine, comes_left ? mine : come);
        }
        worker.is_touched_[number] = true;
    }

    /// By piece: its send, if there was one. To be awaited in the end.
    std::vector<Pending>& sending() { return sending_; }

  private:
    Bytes place(std::size_t number) const { return part_of(own_, pieces_[number]); }
    Bytes scratch(std::size_t number) const { return runtime::slice(received_->bytes(), 0, pieces_[number].size()); }
    ConstBytes value(std::size_t number) const {
        return is_touched_[number] ? ConstBytes(place(number)) : part_of(contribution_, pieces_[number]);
    }

    ConstBytes contribution_;
    std::vector<Share> pieces_;
    Bytes own_;
    std::optional<Scratch> received_;
    std::vector<bool> is_touched_;  ///< If not, this rank's value of the piece is its contribution.
    std::vector<Pending> sending_;
    std::optional<Order> incoming_;
    Pending coming_;
};

/// The part of a rank other than the root.
Task follow_orders(Operation& op, Worker& worker) {
    co_await op.arrival();
    op.announce_arrival(op.root());
    std::vector<Pending> reports;
    Order next;
    const Bytes words{&next, sizeof next};
    std::uint64_t orders = 0;
    Pending ordered = op.receive(op.root(), words, step_of_order(orders));
    for (bool is_last = false; !is_last;) {
        co_await op.until([&] { return worker.has_come() || ordered.done(); });
        if (worker.has_come()) {
            co_await Worker::finish(op, worker);
            reports.push_back(op.send(op.root(), {}, step_of_report(reports.size())));
        } else {
            const Order order = next;
            is_last = order.is_last != 0;
            if (!is_last) ordered = op.receive(op.root(), words, step_of_order(++orders));
            co_await Worker::begin(op, worker, order);
        }
    }
    co_await op.all_of(worker.sending());
    co_await op.all_of(reports);
}

/// The part of the root.
class Coordinator {
  public:
    Coordinator(const Operation& op, Worker& worker)
        : worker_(worker), reduction_(op.size(), worker.pieces(), op.root()), members_(static_cast<std::size_t>(op.size())) {}

    static Task run(Operation& op, Coordinator& here) {
        runtime::Arrivals& arrivals = op.arrivals();
        bool has_come = false;
        while (!here.reduction_.done()) {
            co_await op.until(
                [&] { return arrivals.any() || (op.has_arrived() && !has_come) || here.worker_.has_come() || here.someone_reports(); });
            for (const int rank : arrivals.take()) here.reduction_.arrived(rank);
            if (op.has_arrived() && !std::exchange(has_come, true)) here.reduction_.arrived(op.rank());
            if (here.worker_.has_come()) {
                co_await Worker::finish(op, here.worker_);
                here.reduction_.ended(*here.member(op.rank()).incoming);
            }
            here.take_reports();
            for (const OnlineReduction::Transfer& transfer : here.reduction_.begin()) co_await order(op, here, transfer);
        }
        co_await op.all_of(here.worker_.sending());
        co_await op.all_of(here.telling_);
    }

  private:
    struct Member {
        std::uint64_t orders = 0, reports = 0;
        std::optional<OnlineReduction::Transfer> incoming;  ///< The latest transfer into it.
        std::optional<Pending> report;                      ///< That this transfer is over. The root itself sends none.
    };
    Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
    bool someone_reports() const {
        for (const Member& one : members_)
            if (one.report && one.report->done()) return true;
        return false;
    }

    void take_reports() {
        for (Member& one : members_)
            if (one.report && one.report->done()) {
                one.report.reset();
                reduction_.ended(*one.incoming);
            }
    }

    static Task order(Operation& op, Coordinator& here, OnlineReduction::Transfer transfer) {
        const auto [sender, receiver, segment, replace] = transfer;
        Member& to = here.member(receiver);
        to.incoming = transfer;
        if (receiver != op.rank()) to.report = op.receive(receiver, {}, step_of_report(to.reports++));
        const std::uint64_t number = here.transfers_++;
        co_await tell(op, here, receiver, {replace ? Work::replace : Work::combine, sender, segment, 0, number});
        co_await tell(op, here, sender, {Work::send, receiver, segment, here.reduction_.has_nothing_left(sender), number});
    }

    static Task tell(Operation& op, Coordinator& here, int rank, Order order) {
        if (rank == op.rank()) {
            co_await Worker::begin(op, here.worker_, order);
            co_return;
        }
        for (; !here.telling_.empty() && here.telling_.front().done(); here.orders_.pop_front()) here.telling_.pop_front();
        const Order& kept = here.orders_.emplace_back(order);
        here.telling_.push_back(op.send(rank, {&kept, sizeof kept}, step_of_order(here.member(rank).orders++)));
    }

    Worker& worker_;
    OnlineReduction reduction_;
    std::vector<Member> members_;
    std::deque<Order> orders_;     ///< As sent: they stay in place until they have left.
    std::deque<Pending> telling_;  ///< Their sends, in the same order.
    std::uint64_t transfers_ = 0;
};

}  // namespace

Task reduce_online(Operation& op) {
    const auto contribution = op.arguments().contribution;
    if (op.size() == 1) {
        co_await op.arrival();
        co_await copy_own(op, op.arguments().data, contribution);
        co_return;
    }
    std::vector<Share> pieces = pieces_of(op, op.arguments().segment_bytes, kMostForeseenPieces);
    if (op.rank() == op.root()) {
        Worker worker(contribution, std::move(pieces), op.arguments().data);
        Coordinator coordinator(op, worker);
        co_await Coordinator::run(op, coordinator);
    } else {
        const Scratch own(contribution.size, contribution);
        Worker worker(contribution, std::move(pieces), own.bytes());
        co_await follow_orders(op, worker);
    }
}

}  // namespace rollcall::collectives
