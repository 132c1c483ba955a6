/// \file
/// Which process sends what to which process in a round of Clairvoyant: one question, and three ways to answer it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace rollcall::collectives {

enum class SearchKind {
    linear,        ///< The paper's pseudocode: looks at all segments and processes.
    pairing_heap,  ///< For each segment a heap of the processes that can send it (Marendic et al.).
    segment_tree,  ///< Sets of segments as bits, in a tree over the processes (Proficz and Ocetkiewicz, section 5.4).
};
inline constexpr SearchKind kSearchKinds[] = {SearchKind::linear, SearchKind::pairing_heap, SearchKind::segment_tree};
/// "linear", "pairing_heap", "segment_tree".
std::string_view name(SearchKind kind) noexcept;

/// What a process receives in this round.
struct Match {
    int segment = -1;        ///< -1: nothing.
    int sender_place = -1;   ///< The sender's place in the round's order.
    bool was_given = false;  ///< The receiver had sent its own segment before.
};

/// Keeps the (process, segment) pairs that are not yet sent, and finds matches among them. At first no pair is sent. For one thread.
class PeerSearch {
  public:
    virtual ~PeerSearch() = default;

    /// `order` gives the processes of this round, the sink first. It must stay valid until the end of the round. Processes keep their
    /// relative order from round to round. The only exception is the root, which comes first from the round on in which it has arrived and
    /// becomes the sink.
    virtual void begin_round(std::span<const int> order) = 0;
    /// Finds and makes the match for the receiver at this place. The segment must be unsent at the receiver, and at a sender that has not
    /// sent in this round and did not receive that segment in it. Of all such segments the smallest is taken, and of its possible senders
    /// the first in the order. The sink also takes segments that it has sent. Each place is asked once in a round, in the order of places.
    virtual Match match(int place) = 0;
    /// The segments that came in this round can be sent from now on.
    virtual void end_round() = 0;
    /// The number of bytes in use that grow with processes times segments.
    virtual std::size_t bytes() const = 0;
};

std::unique_ptr<PeerSearch> make_search(SearchKind kind, int processes, int segments);
std::unique_ptr<PeerSearch> make_linear_search(int processes, int segments);
std::unique_ptr<PeerSearch> make_segment_tree_search(int processes, int segments);

}  // namespace rollcall::collectives
