/// \file
/// Clairvoyant without foresight: a reduction that is decided while processes arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::collectives {

/// Who coordinates tells it who has arrived and which transfers have ended, and carries out what it says may begin. There are no rounds:
/// a process that is slow delays only who exchanges segments with it. As in Clairvoyant a process sends one segment at a time, receives
/// one at a time, and does not send what is still coming in; the first in order is the sink. The order is that of arrival, the root first.
/// Where rounds are all alike, and processes arrive in the order of their ranks and at the beginning of rounds, it decides what
/// Clairvoyant does. A state machine; it does no I/O. One thread.
class OnlineReduction {
  public:
    /// From 1 process, 1 segment; the root is one of them. Throws Error{invalid_argument}.
    OnlineReduction(int processes, int segments, int root);

    struct Transfer {
        int sender, receiver, segment;
        bool replace;  ///< In place of the receiver's own, which it has sent; else they are combined.

        bool operator==(const Transfer&) const = default;
    };

    /// Each process once. Throws Error{invalid_argument}.
    void arrived(int process);
    /// The transfers that can begin now; they count as begun. O(P N / 64), and O(P + N) for each of them.
    std::vector<Transfer> begin();
    /// The receiver has it. Throws Error{invalid_argument} if it was not under way.
    void ended(const Transfer& transfer);
    /// The root has everything.
    bool done() const { return ended_at_root_ == segments_; }

  private:
    struct Process {
        bool arrived = false, sending = false;
        std::optional<Transfer> incoming;
        int held = 0;  ///< Segments that are not sent, with the one that comes in.
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
    std::vector<int> order_;                    ///< Those who have arrived and still hold something.
    std::vector<std::uint64_t> unsent_;         ///< A row of bits for each process, without what is coming in.
    std::vector<int> offers_;                   ///< By segment: how many could send it now.
    std::vector<std::uint64_t> offered_;        ///< Bits: by one at least,
    std::vector<std::uint64_t> offered_twice_;  ///< by two at least.
    std::vector<int> merged_;                   ///< By segment: contributions that were combined into another one.
    int ended_at_root_ = 0;                     ///< Segments which the root has, complete.
};

}  // namespace rollcall::collectives
