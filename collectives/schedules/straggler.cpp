// Devraj et al.: Accelerating AllReduce with a Persistent Straggler (StragglAR, 2025). Their schedules are for even numbers of ranks. This
// construction is our own and takes any number.
//
// Each early rank reduces one chunk. Then the straggler exchanges with each early rank that rank's chunk, one chunk in each round; after
// that the chunk is complete at both. Meanwhile the complete chunks spread among the other ranks, and the number of ranks that have a chunk
// doubles in every round. If a chunk was completed in round b, 2^j early ranks have it after round b + j, so all ranks are busy in each
// round. Who sends which chunk is decided greedily. A rank sends the newest chunk that it has. The receiver is chosen among the ranks whose
// own newest chunk is the oldest, because those ranks are needed least. Of these, the ranks that have not met the straggler yet are kept
// for older chunks, so that they are soon free to meet it.
//
// Example: P = 4, straggler 3. Early round 0: 0 -1-> 1, 1 -2-> 2, 2 -0-> 0. Early round 1: 0 -2-> 2, 1 -0-> 0, 2 -1-> 1. Late round 0: 0
// <-0-> 3. Late round 1: 1 <-1-> 3, 0 -0-> 2. Late round 2: 2 <-2-> 3, 1 -1-> 0, 0 -0-> 1. Late round 3: 2 -2-> 0, 3 -2-> 1, 0 -1-> 2. The
// late part has 4 - 2 + 2 rounds.
#include "collectives/schedules/straggler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include <rollcall/error.hpp>

namespace rollcall::collectives {
namespace {

/// Here the ranks are numbered so that the straggler is the last one. Chunk c is first at rank c.
class LatePart {
  public:
    explicit LatePart(int P) : P_(P), ranks_(static_cast<std::size_t>(P)), completed_in_(static_cast<std::size_t>(P - 1), -1) {
        for (Rank& rank : ranks_) rank.has.assign(static_cast<std::size_t>(P - 1), false);
    }

    std::vector<ChunkMessage> run() {
        for (int met = 0; met < P_ - 1 || !spreading_.empty(); ++round_) {
            for (Rank& rank : ranks_) rank.sends = rank.receives = false;
            const std::size_t begin = messages_.size();
            int completed = -1;
            if (met < P_ - 1) {
                completed = next_to_meet();
                exchange(completed);
                ++met;
            }
            for (auto chunk = spreading_.rbegin(); chunk != spreading_.rend(); ++chunk) spread(*chunk);
            for (std::size_t k = begin; k < messages_.size(); ++k) got(messages_[k].receiver, messages_[k].chunk);
            if (completed >= 0) spreading_.push_back(completed);
            std::erase_if(spreading_, [&](int chunk) {
                return std::all_of(ranks_.begin(), ranks_.end(),
                                   [&](const Rank& rank) { return rank.has[static_cast<std::size_t>(chunk)]; });
            });
        }
        return std::move(messages_);
    }
    int rounds() const { return round_; }

  private:
    struct Rank {
        std::vector<bool> has;  ///< By chunk: whether the rank has it complete.
        int newest = -1;        ///< The round in which the newest of these chunks was completed.
        bool met = false;       ///< Whether it has met the straggler.
        bool sends = false, receives = false;
    };
    Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
    bool has(int number, int chunk) { return rank(number).has[static_cast<std::size_t>(chunk)]; }

    int next_to_meet() {
        int best = -1;
        for (int p = 0; p < P_ - 1; ++p)
            if (!rank(p).met && (best < 0 || rank(p).newest < rank(best).newest)) best = p;
        return best;
    }

    void exchange(int p) {
        const int straggler = P_ - 1;
        rank(p).met = true;
        for (const int one : {p, straggler}) rank(one).sends = rank(one).receives = true;
        messages_.push_back({round_, p, straggler, p, true});
        messages_.push_back({round_, straggler, p, p, true});
        completed_in_[static_cast<std::size_t>(p)] = round_;
    }

    void spread(int chunk) {
        std::vector<int> senders, receivers;
        for (int p = 0; p < P_; ++p) {
            if (has(p, chunk) && !rank(p).sends) senders.push_back(p);
            if (!has(p, chunk) && !rank(p).receives) receivers.push_back(p);
        }
        std::stable_sort(receivers.begin(), receivers.end(), [&](int one, int other) {
            return std::tuple(rank(one).newest, !rank(one).met) < std::tuple(rank(other).newest, !rank(other).met);
        });
        for (std::size_t k = 0; k < std::min(senders.size(), receivers.size()); ++k) {
            rank(senders[k]).sends = rank(receivers[k]).receives = true;
            messages_.push_back({round_, senders[k], receivers[k], chunk, false});
        }
    }

    void got(int number, int chunk) {
        rank(number).has[static_cast<std::size_t>(chunk)] = true;
        rank(number).newest = std::max(rank(number).newest, completed_in_[static_cast<std::size_t>(chunk)]);
    }

    int P_, round_ = 0;
    std::vector<Rank> ranks_;
    std::vector<int> spreading_;     ///< Complete chunks that some rank does not have, the oldest first.
    std::vector<int> completed_in_;  ///< By chunk: the round in which it was completed.
    std::vector<ChunkMessage> messages_;
};

}  // namespace

StragglerSchedule straggler_allreduce(int processes, int straggler) {
    const int P = processes;
    if (P < 2 || straggler < 0 || straggler >= P)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("an allreduce of {} processes with the straggler {}; allowed: 2 processes at least, and one of them", P,
                                straggler));
    StragglerSchedule schedule{.chunks = P - 1, .early = {}, .late = {}};
    for (int distance = 1; distance < P - 1; ++distance)
        for (int p = 0; p < P - 1; ++p) {
            const int other = (p + distance) % (P - 1);
            schedule.early.push_back({distance - 1, p, other, other, true});
        }
    schedule.early_rounds = P - 2;
    LatePart late(P);
    schedule.late = late.run();
    schedule.late_rounds = late.rounds();
    // Renumber: the straggler gets its own number back, and the last rank, whose number it had, takes the straggler's place here.
    for (std::vector<ChunkMessage>* part : {&schedule.early, &schedule.late})
        for (ChunkMessage& message : *part)
            for (int* number : {&message.sender, &message.receiver})
                *number = *number == P - 1 ? straggler : *number == straggler ? P - 1 : *number;
    return schedule;
}

}  // namespace rollcall::collectives
