// Clairvoyant (clairvoyant.cpp), and a broadcast of our own. Proficz and Ocetkiewicz name an allreduce as future work.
//
// The reduction is Clairvoyant's, without the segments that its root lends to others. Those are not needed: a rank that borrows a segment
// still has to send its own elements of it. So the root's sends are free for the broadcast. When a segment is complete at the root, the
// root sends it to one rank. In the next round the root sends the next complete segment, while those that have the first one spread it
// (spreading.hpp). The broadcast uses what a round of the reduction leaves free: ranks that send nothing there send, and ranks that receive
// nothing receive. Rounds are counted only if something is sent in them.
//
// Example: 3 ranks, rank 2 late, two segments, root 0. Round 0: 1 -0-> 0. Round 1: 1 -1-> 0. Rank 2 arrives. Round 2: 2 -0-> 0. Round 3: 2
// -1-> 0, and 0 -0-> 1 (complete). Round 4: 0 -1-> 2. Round 5: 0 -1-> 1, 1 -0-> 2.
#include "collectives/schedules/clairvoyant_allreduce.hpp"

#include <algorithm>
#include <bit>
#include <deque>

#include "collectives/schedules/spreading.hpp"

namespace rollcall::collectives {
namespace {

class Rounds {
  public:
    /// `reduction` must outlive it.
    explicit Rounds(const Schedule& reduction)
        : next_(reduction.transfers.begin()),
          end_(reduction.transfers.end()),
          root_(reduction.root),
          spreading_(reduction.processes, reduction.segments),
          is_root_(static_cast<std::size_t>(reduction.processes), false),
          is_busy_(static_cast<std::size_t>(reduction.processes), true),
          unsent_(static_cast<std::size_t>(reduction.processes), reduction.segments),
          missing_(static_cast<std::size_t>(reduction.segments), reduction.processes - 1) {
        is_root_[static_cast<std::size_t>(root_)] = true;
    }

    std::vector<ChunkMessage> run() {
        for (; next_ != end_ || !ready_.empty() || !spreading_.done(); ++round_) {
            const std::vector<int> complete = reduce();
            begin_to_spread();
            for (const auto& [sender, receiver, segment] : spreading_.end_round()) add(sender, receiver, segment, false);
            ready_.insert(ready_.end(), complete.begin(), complete.end());
        }
        return std::move(messages_);
    }

  private:
    /// A round of the reduction. Returns the segments that are complete at the root after it.
    std::vector<int> reduce() {
        std::vector<int> complete;
        for (const auto first = next_; next_ != end_ && next_->round == first->round; ++next_) {
            if (next_->sender == root_) continue;  // lent
            add(next_->sender, next_->receiver, next_->segment, true);
            spreading_.sends(next_->sender);
            spreading_.receives(next_->receiver);
            const auto sender = static_cast<std::size_t>(next_->sender);
            if (--unsent_[sender] == 0) {
                is_busy_[sender] = false;
                spreading_.prefer(next_->sender);
            }
            if (--missing_[static_cast<std::size_t>(next_->segment)] == 0) complete.push_back(next_->segment);
        }
        return complete;
    }

    /// The root sends the oldest complete segment that no other rank has. It sends it to a rank that can pass it on, because nothing of the
    /// reduction is left for that rank to send. If there is no such rank, any one will do.
    void begin_to_spread() {
        if (ready_.empty()) return;
        int to = spreading_.neediest(is_busy_);
        if (to < 0) to = spreading_.neediest(is_root_);
        if (to < 0) return;
        const int segment = ready_.front();
        ready_.pop_front();
        add(root_, to, segment, false);
        spreading_.sends(root_);
        spreading_.receives(to);
        spreading_.completes(segment, root_);
        spreading_.completes(segment, to);
    }

    void add(int sender, int receiver, int segment, bool combine) { messages_.push_back({round_, sender, receiver, segment, combine}); }

    std::vector<Transfer>::const_iterator next_, end_;
    int root_, round_ = 0;
    Spreading spreading_;
    std::vector<bool> is_root_;
    std::vector<bool> is_busy_;  ///< The root, and ranks that have something of the reduction to send.
    std::vector<int> unsent_;    ///< By rank: the number of segments that it has not sent.
    std::vector<int> missing_;   ///< By segment: the number of transfers before it is complete.
    std::deque<int> ready_;      ///< The segments that the root has complete, and nobody else.
    std::vector<ChunkMessage> messages_;
};

}  // namespace

std::vector<ChunkMessage> clairvoyant_allreduce(std::span<const Nanoseconds> arrivals, int segments, Nanoseconds round_time) {
    const int root = arrivals.empty() ? 0 : order_of_arrival(arrivals).front();
    const Schedule reduction =
        clairvoyant({.arrivals = {arrivals.begin(), arrivals.end()}, .segments = segments, .root = root, .round_time = round_time});
    return Rounds(reduction).run();
}

Nanoseconds clairvoyant_allreduce_earliest_end(std::span<const Nanoseconds> arrivals, int segments, Nanoseconds round_time) {
    const auto [first, last] = std::minmax_element(arrivals.begin(), arrivals.end());
    const auto P = static_cast<Nanoseconds>(arrivals.size()), N = static_cast<Nanoseconds>(segments);
    // The last rank to arrive, which is not the root, sends each segment. The last of them is then complete at one rank, and spreads.
    const Nanoseconds after_last = N + std::bit_width(arrivals.size() - 1);
    // All ranks together receive each segment P - 1 times in the reduction, and as often in the broadcast.
    const Nanoseconds after_first = (2 * N * (P - 1) + P - 1) / P;
    return std::max(*last + after_last * round_time, *first + after_first * round_time);
}

}  // namespace rollcall::collectives
