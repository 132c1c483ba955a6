// Pre-reduced ring (PRR), after J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal
// of Supercomputing 2018. The text available to us gives the idea; the construction is our own.
//
// The ranks form a ring in the order of their arrival. If a rank arrives so much later than the rank before it that k messages fit in
// between, the earlier rank sends it the first k chunks before the ring begins, and is left out when these chunks are combined. The ring
// keeps its timetable: chunk c is sent in round x by the rank that is x places behind position c. So leaving out a rank adds no messages to
// any round. A chunk that would have ended at a rank that is left out is complete earlier, and goes round all ranks as many rounds earlier.
//
// Example: P = 3, the ranks arrive at 0, 0 and 2 rounds. Rank 1 has time for two chunks. Round 1: 1 -0-> 2. Round 2: 1 -1-> 2. Then the
// ring begins. Round 3: 0 -0-> 2 (complete), 2 -2-> 0. Round 4: 2 -1-> 0 (complete), 0 -2-> 1 (complete). Round 5: 2 -0-> 0, 0 -1-> 1, 1
// -2-> 2. Round 6: 0 -0-> 1, 1 -1-> 2, 2 -2-> 0.
#include "collectives/schedules/pre_reduced_ring.hpp"

#include <algorithm>

namespace rollcall::collectives {
namespace {

/// Ranks are counted by their positions in the order of arrival, and chunks like positions. The *place* of a position for a chunk is how
/// far it is behind the position with the chunk's number: the round of the ring in which it sends the chunk.
class Ring {
  public:
    Ring(std::span<const Nanoseconds> arrivals, Nanoseconds round_time)
        : order_(order_of_arrival(arrivals)), before_(arrivals.size(), 0), last_(arrivals.size(), ranks() - 1) {
        const auto arrival = [&](int position) { return arrivals[static_cast<std::size_t>(rank_at(position))]; };
        // By chunk: the last position that is not left out from this chunk on.
        std::vector<int> joins(last_.size(), -1);
        for (int position = 0; position + 1 < ranks(); ++position) {
            const Nanoseconds fit = (arrival(position + 1) - arrival(position)) / round_time;
            const int chunks = static_cast<int>(std::min<Nanoseconds>(fit, ranks()));
            before_[static_cast<std::size_t>(position)] = chunks;
            if (chunks > 0) begin_ = std::max(begin_, position + chunks);
            if (const int from = std::max(chunks, position + 1); from < ranks()) {
                int& joined = joins[static_cast<std::size_t>(from)];
                joined = std::max(joined, position);
            }
        }
        int latest = -1;
        for (int chunk = 0; chunk < ranks(); ++chunk) {
            latest = std::max(latest, joins[static_cast<std::size_t>(chunk)]);
            if (latest >= 0) last_[static_cast<std::size_t>(chunk)] = latest;
        }
    }

    int ranks() const { return static_cast<int>(order_.size()); }
    int rank_at(int position) const { return order_[static_cast<std::size_t>(position)]; }

    void add_sends(int position, std::vector<ChunkMessage>& messages) const {
        const int next = at(position + 1);
        for (int chunk = 0; chunk < before(position); ++chunk) add(messages, position + chunk, position, next, chunk, true);
        int ahead = 1;  // From chunk to chunk, in this direction, more ranks are left out.
        for (int chunk = ranks() - 1; chunk >= before(position); --chunk) {
            while (ahead < ranks() && is_left_out(at(position + ahead), chunk)) ++ahead;
            if (const int its = place(position, chunk); its + ahead < ranks())
                add(messages, begin_ + its, position, at(position + ahead), chunk, true);
        }
        for (int chunk = 0; chunk < ranks(); ++chunk)
            if (const int after = after_last(position, chunk); after + 1 < ranks())
                add(messages, begin_ + place_of_last(chunk) + after, position, next, chunk, false);
    }

    void add_receives(int position, std::vector<ChunkMessage>& messages) const {
        const int previous = at(position - 1);
        if (position > 0)
            for (int chunk = 0; chunk < before(previous); ++chunk) add(messages, previous + chunk, previous, position, chunk, true);
        int behind = 1;
        for (int chunk = ranks() - 1; chunk >= before(position); --chunk) {
            while (behind < ranks() && is_left_out(at(position - behind), chunk)) ++behind;
            if (const int its = place(position, chunk); behind <= its)
                add(messages, begin_ + its - behind, at(position - behind), position, chunk, true);
        }
        for (int chunk = 0; chunk < ranks(); ++chunk)
            if (const int after = after_last(position, chunk); after > 0)
                add(messages, begin_ + place_of_last(chunk) + after - 1, previous, position, chunk, false);
    }

  private:
    int at(int position) const { return (position + ranks()) % ranks(); }
    int place(int position, int chunk) const { return at(position - chunk); }
    /// How many chunks the rank at this position sends to the next one before the ring begins.
    int before(int position) const { return before_[static_cast<std::size_t>(position)]; }
    bool is_left_out(int position, int chunk) const { return chunk < before(position); }
    /// The last place at which there is a part of the chunk. The chunk is complete there.
    int place_of_last(int chunk) const { return place(last_[static_cast<std::size_t>(chunk)], chunk); }
    int after_last(int position, int chunk) const { return at(position - last_[static_cast<std::size_t>(chunk)]); }
    void add(std::vector<ChunkMessage>& messages, int round, int from, int to, int chunk, bool combine) const {
        messages.push_back({round, rank_at(from), rank_at(to), chunk, combine});
    }

    std::vector<int> order_;
    std::vector<int> before_;
    std::vector<int> last_;  ///< By chunk: the position of the last place that is not left out.
    int begin_ = 0;          ///< The round in which the ring begins.
};

}  // namespace

std::vector<ChunkMessage> pre_reduced_ring(std::span<const Nanoseconds> arrivals, Nanoseconds round_time, int only) {
    const Ring ring(arrivals, round_time);
    std::vector<ChunkMessage> messages;
    for (int position = 0; position < ring.ranks(); ++position) {
        if (only != kOfAllRanks && only != ring.rank_at(position)) continue;
        ring.add_sends(position, messages);
        if (only != kOfAllRanks) ring.add_receives(position, messages);
    }
    return messages;
}

}  // namespace rollcall::collectives
