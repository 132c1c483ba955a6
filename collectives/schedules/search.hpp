/// \file
/// Who sends what to whom in a round of Clairvoyant: one question, and three ways to answer it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace rollcall::collectives {

enum class SearchKind {
    linear,        ///< The paper's pseudocode: looks at all segments and processes.
    pairing_heap,  ///< For each segment a heap of those that can send it (Marendic et al.).
    segment_tree,  ///< Sets of segments as bits, in a tree over the processes (Proficz and Ocetkiewicz, section 5.4).
};
inline constexpr SearchKind kSearchKinds[] = {SearchKind::linear, SearchKind::pairing_heap, SearchKind::segment_tree};
/// "linear", "pairing_heap", "segment_tree".
std::string_view name(SearchKind kind) noexcept;

/// What a process is to receive in this round.
struct Match {
    int segment = -1;        ///< -1: nothing.
    int sender_place = -1;   ///< Its place in the round's order.
    bool was_given = false;  ///< The receiver had sent its own before.
};

/// Which (process, segment) pairs are not yet sent, and how to find a match among them. At first all are. One thread.
class PeerSearch {
  public:
    virtual ~PeerSearch() = default;

    /// `order`: the processes of this round, the sink first; it must stay until the end of the round. Apart from the sink, which is first
    /// from the round on in which it becomes the sink because it came, processes keep their relative order from round to round.
    virtual void begin_round(std::span<const int> order) = 0;
    /// The smallest segment, and of those that can send it the first in order, that is unsent at the receiver and at a sender
    /// which has not sent in this round and did not receive that segment in it. The sink takes what it has sent, too. Each place is asked
    /// once in a round, in order; the match is made.
    virtual Match match(int place) = 0;
    /// What came in this round can be sent from now on.
    virtual void end_round() = 0;
    /// Bytes that grow with processes times segments.
    virtual std::size_t bytes() const = 0;
};

std::unique_ptr<PeerSearch> make_search(SearchKind kind, int processes, int segments);
std::unique_ptr<PeerSearch> make_linear_search(int processes, int segments);
std::unique_ptr<PeerSearch> make_segment_tree_search(int processes, int segments);

}  // namespace rollcall::collectives
