// Our own, after Devraj et al.: Accelerating AllReduce with a Persistent Straggler (StragglAR, 2025), whose schedule is for one late rank.
//
// Each rank is the owner of as many chunks as any other one. First the early ranks reduce each chunk among themselves: to its owner, or, if
// the owner is late, to one of them, which keeps it for the owner. When the late ranks have arrived, they send their elements of a chunk to
// its owner, each in the order of the chunks, as far as ports are free. As soon as a chunk is complete, it spreads as in spreading.hpp.
// Messages that reduce go before messages that spread.
//
// All ranks receive equally much: the owner of a chunk receives it once for each late rank (what the early ranks have kept takes the place
// of the owner's own elements, if it is late), and the others receive it once.
//
// Example: 4 ranks, 2 and 3 are late, one chunk each. Round 0: 0 -1-> 1, 1 -0-> 0. Round 1: 0 -3-> 1, 1 -2-> 0; rank 0 keeps chunk 2 and
// rank 1 keeps chunk 3. The late ranks arrive. Round 2: 2 -0-> 0, 3 -1-> 1, 0 -2-> 2, 1 -3-> 3. Round 3: 3 -0-> 0 and 2 -1-> 1 (complete).
// Round 4: 3 -2-> 2 and 2 -3-> 3 (complete); 0 -0-> 1 and 1 -1-> 0 spread. After round 7 all ranks have all chunks.
#include "collectives/schedules/late_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include <rollcall/error.hpp>

#include "collectives/schedules/spreading.hpp"

namespace rollcall::collectives {
namespace {

/// Here ranks are numbered in the order of their arrival.
class LateGroup {
  public:
    LateGroup(int P, int late, int chunks_each) : P_(P), early_(P - late), chunks_(P * chunks_each), keeper_(P * chunks_each) {
        for (int chunk = 0, kept = 0; chunk < chunks_; ++chunk) at(keeper_, chunk) = owner(chunk) < early_ ? owner(chunk) : kept++ % early_;
    }
    std::vector<ChunkMessage> run() {
        reduce_among_early();
        complete_and_spread();
        return std::move(messages_);
    }

  private:
    template <class T>
    static T& at(std::vector<T>& values, int index) {
        return values[static_cast<std::size_t>(index)];
    }
    int owner(int chunk) const { return chunk % P_; }

    void reduce_among_early() {
        std::vector<std::vector<int>> kept(static_cast<std::size_t>(early_));
        for (int chunk = 0; chunk < chunks_; ++chunk) at(kept, at(keeper_, chunk)).push_back(chunk);
        for (int distance = 1; distance < early_; ++distance) {
            int rounds = 0;
            for (int sender = 0; sender < early_; ++sender) {
                const int receiver = (sender + distance) % early_;
                int round = 0;
                for (const int chunk : at(kept, receiver)) messages_.push_back({round_ + round++, sender, receiver, chunk, true});
                rounds = std::max(rounds, round);
            }
            round_ += rounds;
        }
        std::stable_sort(messages_.begin(), messages_.end(), [](const auto& one, const auto& other) { return one.round < other.round; });
    }

    /// What brings the chunks to their owners, in the order in which it should be sent.
    std::vector<ChunkMessage> completing() {
        std::vector<ChunkMessage> all;
        const int late = P_ - early_;
        for (int chunk = 0; chunk < chunks_; ++chunk)
            for (int i = 0; i < late; ++i) {
                const int sender = owner(chunk) == early_ + i ? at(keeper_, chunk) : early_ + i;
                all.push_back({chunk + i, sender, owner(chunk), chunk, true});
            }
        std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
            return std::tuple(one.round, one.chunk, one.sender) < std::tuple(other.round, other.chunk, other.sender);
        });
        return all;
    }

    void complete_and_spread() {
        std::vector<ChunkMessage> next = completing();
        std::vector<int> missing(static_cast<std::size_t>(chunks_), P_ - early_);
        Spreading spreading(P_, chunks_);
        for (; !next.empty() || !spreading.done(); ++round_) {
            std::vector<bool> sends(static_cast<std::size_t>(P_), false), receives(static_cast<std::size_t>(P_), false);
            std::erase_if(next, [&](const ChunkMessage& message) {
                const auto sender = static_cast<std::size_t>(message.sender), receiver = static_cast<std::size_t>(message.receiver);
                if (sends[sender] || receives[receiver]) return false;
                sends[sender] = receives[receiver] = true;
                spreading.sends(message.sender);
                spreading.receives(message.receiver);
                messages_.push_back({round_, message.sender, message.receiver, message.chunk, true});
                if (--at(missing, message.chunk) == 0) spreading.completes(message.chunk, message.receiver);
                return true;
            });
            for (const auto& [sender, receiver, chunk] : spreading.end_round())
                messages_.push_back({round_, sender, receiver, chunk, false});
        }
    }

    int P_, early_, chunks_, round_ = 0;
    std::vector<int> keeper_;  ///< By chunk: the early rank that has what the early ranks bring.
    std::vector<ChunkMessage> messages_;
};

}  // namespace

std::vector<ChunkMessage> late_group_allreduce(std::span<const int> order, int late, int chunks_each) {
    const int P = static_cast<int>(order.size());
    if (late < 1 || late >= P || chunks_each < 1)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("an allreduce of {} processes, {} of them late, with {} chunks each; allowed: 1 to {} late, and a chunk each", P,
                        late, chunks_each, P - 1));
    std::vector<ChunkMessage> messages = LateGroup(P, late, chunks_each).run();
    for (ChunkMessage& message : messages)
        for (int* number : {&message.sender, &message.receiver}) *number = order[static_cast<std::size_t>(*number)];
    return messages;
}

}  // namespace rollcall::collectives
