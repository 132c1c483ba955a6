/// \file
/// Clairvoyant without predictions: a reduction that is decided while the processes arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::collectives {

/// The coordinator tells this object which processes have arrived and which transfers have ended, and carries out the transfers that it
/// says may begin. There are no rounds: a slow process delays only the processes that exchange segments with it. As in Clairvoyant, a
/// process sends one segment at a time, receives one at a time, and does not send a segment that is still coming in. The first process in
/// the order is the sink. The order is that of arrival, with the root first. If all rounds take the same time, and processes arrive in the
/// order of their ranks and at the beginning of rounds, the decisions are those of Clairvoyant. This is a state machine and does no I/O.
/// For one thread.
class OnlineReduction {
  public:
    /// For at least 1 process and 1 segment. The root is one of the processes. Throws Error{invalid_argument}.
    OnlineReduction(int processes, int segments, int root);

    struct Transfer {
        int sender, receiver, segment;
        bool replace;  ///< The segment replaces the receiver's own, which it has sent. Else the two are combined.

        bool operator==(const Transfer&) const = default;
    };

    /// A process has arrived. Call it once for each process. Throws Error{invalid_argument}.
    void arrived(int process);
    /// Returns the transfers that can begin now. They count as begun. O(P N / 64), and O(P + N) for each of them.
    std::vector<Transfer> begin();
    /// The transfer has ended: the receiver has the segment. Throws Error{invalid_argument} if it was not under way.
    void ended(const Transfer& transfer);
    /// Whether the process takes no part any more once the transfers that have begun are over. Never the root.
    bool has_nothing_left(int number) const {
        const Process& one = processes_[static_cast<std::size_t>(number)];
        return number != root_ && one.arrived && one.held == 0;
    }
    /// Whether the root has everything.
    bool done() const { return ended_at_root_ == segments_; }

  private:
    struct Process {
        bool arrived = false, sending = false;
        std::optional<Transfer> incoming;
        int held = 0;  ///< The number of segments that it has not sent, including the one that is coming in.
    };
    Process& process(int number) { return processes_[static_cast<std::size_t>(number)]; }
    std::uint64_t* unsent(int number) { return unsent_.data() + static_cast<std::size_t>(number) * words_; }
    bool has(int number, int segment) { return unsent(number)[segment / 64] >> (segment % 64) & 1; }
    void offer(int segment, int change);
    void offer_all(int number, int change);
    /// The smallest segment that `receiver` may get now, or -1.
    int find_segment(int receiver, bool is_sink);

    int segments_, root_;
    std::size_t words_;
    std::vector<Process> processes_;
    std::vector<int> order_;                    ///< The processes that have arrived and still hold a segment.
    std::vector<std::uint64_t> unsent_;         ///< A row of bits for each process, without the segment that is coming in.
    std::vector<int> offers_;                   ///< By segment: how many processes could send it now.
    std::vector<std::uint64_t> offered_;        ///< Bits: offered by at least one process.
    std::vector<std::uint64_t> offered_twice_;  ///< Bits: offered by at least two processes.
    std::vector<int> merged_;                   ///< By segment: the number of contributions that were combined into another one.
    int ended_at_root_ = 0;                     ///< The number of complete segments that the root has.
};

}  // namespace rollcall::collectives
