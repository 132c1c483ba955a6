/// \file
/// One node's part of a bootstrap, without any I/O.
///
/// The hubs of a job make a tree: each knows its node's own ranks and the hubs below it, and all but the root have one
/// above. What the ranks bring to an exchange or barrier goes up as one contribution of a hub, once it is whole; the
/// root answers, and the answer goes down. A job of one node is a root without hubs below.
///
/// Losses are told to every hub. A rank calls its collectives in order, so "rank 5 is lost, its last call was number 6"
/// is all that anybody needs to know to fail number 7 and later ones at once, without asking: a hub answers its own
/// ranks by itself.
///
/// Example: hubs A (root; ranks 0, 1; below it B) and B (ranks 2, 3). Barrier 1: 2 and 3 call, B sends up a contribution
/// of two ranks; 0 and 1 call, A is whole: `released` to 0, 1 and B, which passes it on to 2 and 3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/frames.hpp"

namespace rollcall::bootstrap {

/// Not thread-safe.
class Hub {
  public:
    enum class Kind : std::uint32_t { exchange, barrier };

    /// A frame that is to be sent.
    struct Delivery {
        enum class To {
            rank,    ///< To a rank of this node, as the answer to what it called.
            notice,  ///< To a rank of this node, as a notice.
            below,   ///< To a hub below.
            above,
        };
        To to;
        int which = 0;  ///< The rank, or the index of the hub below.
        std::shared_ptr<const Blob> frame;
    };
    using Deliveries = std::vector<Delivery>;

    /// What happened to ranks.
    struct Loss {
        std::vector<int> ranks;
        std::string host;    ///< Where they were; empty: on several.
        std::string how;     ///< Completes "rank 3 on host a ...".
        bool notice = true;  ///< Others get a notice of it; false when they left in good order.
    };

    /// The hub of a job of `size` ranks whose node has `ranks`, with hubs below that speak for these ranks each.
    Hub(int size, const std::vector<int>& ranks, std::vector<std::vector<int>> below, bool root);

    /// A rank of this node calls its collective number `sequence`. Throws Error{bootstrap} for what no rank may send.
    Deliveries arrive(int rank, Kind kind, std::uint64_t sequence, Blob blob);
    /// A frame of a hub below: contribution, disagreement or loss. Throws Error{bootstrap} for what it may not send.
    Deliveries hear_below(int hub, const Frame& frame);
    /// A frame of the hub above: gathered, released, failed or loss.
    Deliveries hear_above(const Frame& frame);
    /// A rank of this node will not call any more. Only its first loss counts.
    Deliveries lose(int rank, std::string host, std::string how, bool notice);
    /// Whether ranks have left in good order of whom the hubs below have not been told: the end of a job is not to be news
    /// for each host from each rank. Only at the root.
    bool has_departures() const { return !departures_.empty(); }
    /// Tells them. Called a moment after the first; not at all when everybody goes.
    Deliveries tell_departures();
    /// A hub below is gone, with all for which it spoke.
    Deliveries lose_below(int hub, std::string host, std::string how);

    /// The job cannot go on, and no rank is to blame: open and later calls of this node's ranks fail with this sentence. Of a hub
    /// with none below.
    Deliveries end(std::string sentence);

    bool is_lost(int rank) const { return lost_.contains(rank); }

    static Blob encode_loss(const Loss& loss, std::uint64_t last);
    /// Gives the last call that the lost ranks took part in.
    static std::uint64_t decode_loss(std::span<const std::byte> body, Loss& loss);

  private:
    struct Round {
        Kind kind = Kind::exchange;
        int covered = 0;                            // of the ranks at and below this hub
        std::vector<std::pair<int, Blob>> entries;  // not yet passed up
        std::vector<int> waiting;                   // ranks of this node
        bool disagreed = false;                     // the root has been told, its answer is awaited
        int first = -1;                             // the rank that called first
    };
    struct Gone {
        std::uint64_t last;  // the last call it took part in
        int rank;
        std::string sentence;
    };

    Round* open(std::uint64_t sequence, Kind kind, int rank, Deliveries& out);
    void settle(std::uint64_t sequence, Deliveries& out);
    void disagree(std::uint64_t sequence, Round& round, const std::string& sentence, Deliveries& out);
    void conclude(std::uint64_t sequence, const std::shared_ptr<const Blob>& answer, Deliveries& out);
    void fail(std::uint64_t sequence, const std::shared_ptr<const Blob>& answer, Deliveries& out);
    void apply(const Loss& loss, std::uint64_t last, int except, Deliveries& out);
    const Gone* doom(std::uint64_t sequence) const;
    std::shared_ptr<const Blob> answer_of(std::uint64_t sequence) const;
    std::shared_ptr<const Blob> gathered(std::uint64_t sequence, Round& round) const;

    int size_;
    bool root_;
    int covers_ = 0;                     // ranks at and below this hub
    std::map<int, std::uint64_t> last_;  // of this node's ranks: their last call
    std::vector<std::vector<int>> below_;
    std::vector<std::uint64_t> last_below_;  // of each hub below: its last contribution
    std::map<std::uint64_t, Round> rounds_;
    std::map<std::uint64_t, std::shared_ptr<const Blob>> failed_;  // by disagreement: for those who call later
    std::vector<Gone> gone_;  // in the order of their losses, those that doom more than the ones before
    std::set<int> lost_;
    std::optional<std::string> ended_;          // why
    std::map<std::uint64_t, Loss> departures_;  // by their last call
};

}  // namespace rollcall::bootstrap
