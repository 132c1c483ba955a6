/// \file
/// Spreads complete chunks over all processes, in the rounds that a reduction leaves free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::collectives {

/// In a round, a process sends at most one chunk and receives at most one. Which process sends which chunk is decided greedily. The chunks
/// that the fewest processes have go first, and of these the newest. (If a chunk is completed in each round, 2^j processes have the chunk
/// of round b after round b + j, and all processes are busy.) The receiver is chosen among the processes whose own newest chunk is the
/// oldest, because those are needed least. The result is the same wherever it is computed. This is a state machine and does no I/O. For one
/// thread.
///
/// Example: 4 processes. Process 0 has chunk 0 complete after round 0, and process 3 has chunk 1 after round 1. Round 1: 0 -> 1 (chunk 0).
/// Round 2: 3 -> 2 (chunk 1) and 0 -> 3 (chunk 0). Round 3: 2 -> 0 and 3 -> 1 (chunk 1), and 1 -> 2 (chunk 0). Then all have both.
class Spreading {
  public:
    struct Message {
        int sender, receiver, chunk;
    };

    Spreading(int processes, int chunks);

    /// In this round the process sends, or receives, something else.
    void sends(int process);
    void receives(int process);
    /// After this round the process has the chunk complete, in another way than by end_round().
    void completes(int chunk, int process) { completed_.push_back({process, chunk}); }
    /// Among processes that are needed equally, this one is now a receiver before the others.
    void prefer(int process) { at(process).is_preferred = true; }
    /// The first of the processes that can still receive in this round, and whose newest chunk is the oldest; -1: there is none. Processes
    /// with `left_out[process]` do not count.
    int neediest(const std::vector<bool>& left_out) const;
    /// Decides what else is sent in this round, and ends the round. Takes O(P / 64 + log S) time for each of the S chunks that are
    /// spreading, and O(P log P) for each one that is sent.
    std::vector<Message> end_round();

    /// Whether all processes have all chunks that any process has.
    bool done() const { return spreading_.empty(); }

  private:
    struct Process {
        int newest = -1;  ///< The round in which the newest chunk that it has was completed.
        bool is_preferred = false;
    };
    struct Holding {
        int process, chunk;
    };
    using Bits = std::vector<std::uint64_t>;  ///< A bit for each process.
    Process& at(int process) { return processes_[static_cast<std::size_t>(process)]; }
    void free_all();
    void spread(int chunk, std::vector<Message>& messages);
    void get(int process, int chunk);

    std::vector<Process> processes_;
    std::vector<int> spreading_;           ///< Complete chunks that some process does not have.
    std::vector<int> completed_in_;        ///< By chunk: the round in which it was completed.
    std::vector<int> holders_;             ///< By chunk: the number of processes that have it complete.
    std::vector<Bits> has_;                ///< By chunk: which processes have it complete.
    Bits free_to_send_, free_to_receive_;  ///< In this round.
    std::vector<Holding> completed_;       ///< In this round.
    std::size_t free_senders_, free_receivers_;
    int round_ = 0;
};

}  // namespace rollcall::collectives
