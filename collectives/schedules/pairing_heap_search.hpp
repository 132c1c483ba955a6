/// \file
/// Search by pairing heaps, as Marendic et al. propose it.
#pragma once

#include <boost/heap/pairing_heap.hpp>
#include <cstdint>
#include <vector>

#include "collectives/schedules/search.hpp"

namespace rollcall::collectives {

/// For each segment there is a heap of the processes that can send it now, with the earliest on top. A process that sends leaves all heaps
/// at once, and comes back at the end of the round. (Proficz and Ocetkiewicz, section 5.7, found this faster than filtering while
/// extracting.)
class PairingHeapSearch final : public PeerSearch {
  public:
    PairingHeapSearch(int processes, int segments);
    void begin_round(std::span<const int> order) override;
    Match match(int place) override;
    void end_round() override;
    std::size_t bytes() const override;

    /// The numbers of heap operations for a process, without the N insertions at its arrival: Lemma 1.
    struct Counts {
        std::int64_t insertions = 0, erasures = 0;
    };
    Counts counts(int process) const { return counts_[static_cast<std::size_t>(process)]; }

  private:
    struct Later {
        const int* place;
        bool operator()(int left, int right) const { return place[left] > place[right]; }
    };
    using Heap = boost::heap::pairing_heap<int, boost::heap::compare<Later>>;

    std::size_t cell(int process, int s) const {
        return static_cast<std::size_t>(process) * static_cast<std::size_t>(N_) + static_cast<std::size_t>(s);
    }
    void insert(int process, int s);
    void erase(int process, int s);

    int N_;
    std::vector<int> place_;  ///< By process: the place in the order of the round; -1: not yet arrived.
    std::vector<Heap> heaps_;
    std::vector<Heap::handle_type> handles_;  ///< By process and segment.
    std::vector<std::uint8_t> M_;             ///< By process and segment: not sent, and not received in this round.
    std::vector<std::uint8_t> S_;             ///< By place: has sent in this round.
    std::vector<int> came_;                   ///< By place: the segment in state P'.
    std::vector<Counts> counts_;
    std::span<const int> order_;
};

}  // namespace rollcall::collectives
