/// \file
/// One node's part of a bootstrap, without any input or output.
///
/// The hubs of a job form a tree. Each hub knows the ranks of its own node and the hubs below it. Each hub except the
/// root has one hub above it. What the ranks bring to an exchange or barrier goes up as one contribution of a hub,
/// when all of it has come. The root answers, and the answer goes down. A job of one node is a root without hubs
/// below.
///
/// Every hub is told of losses, unless all ranks of the job are being ended: then the launcher tells its hubs no more
/// of them. A rank makes its collective calls in order. So "rank 5 is lost, its last call was number 6" is all that a
/// hub needs to know to fail call 7 and later calls at once: it answers its own ranks without asking another hub.
///
/// Example: hub A is the root and has ranks 0 and 1; hub B is below it and has ranks 2 and 3. In barrier 1, ranks 2
/// and 3 call, and B sends up a contribution of two ranks. Ranks 0 and 1 call, and A has all contributions. It sends
/// `released` to 0, 1 and B, and B passes it on to 2 and 3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/frames.hpp"

namespace rollcall::bootstrap {

/// Not thread-safe.
class Hub {
  public:
    enum class Kind : std::uint32_t { exchange, barrier };

    /// A frame that must be sent.
    struct Delivery {
        enum class To {
            rank,    ///< To a rank of this node, as the answer to what it called.
            notice,  ///< To all ranks of this node that are not lost, as a notice.
            below,   ///< To a hub below.
            above,
        };
        To to;
        int which = 0;  ///< The rank that is answered, or the index of the hub below.
        std::shared_ptr<const Blob> frame;
    };
    using Deliveries = std::vector<Delivery>;

    /// What happened to ranks.
    struct Loss {
        std::vector<int> ranks;
        std::string host;    ///< The host of these ranks; empty: several hosts.
        std::string how;     ///< Completes "rank 3 on host a ...".
        bool notice = true;  ///< Other ranks get a notice of it; false when these left in good order.
    };

    /// Makes the hub of a job of `size` ranks whose node has `ranks`. Each hub below speaks for its list of ranks in
    /// `below`. What the ranks of one hub bring to an exchange, and what all bring, may have `longest` bytes as a frame.
    Hub(int size, const std::vector<int>& ranks, std::vector<std::vector<int>> below, bool root, std::size_t longest = kLongestAnswer);

    /// A rank of this node makes its collective call number `sequence`. Throws Error{bootstrap} for a call that no
    /// rank may make.
    Deliveries arrive(int rank, Kind kind, std::uint64_t sequence, Blob blob);
    /// Takes a frame of a hub below: contribution, refusal or loss. Throws Error{bootstrap} for a frame that it
    /// may not send.
    Deliveries hear_below(int hub, const Frame& frame);
    /// Takes a frame of the hub above: gathered, released, failed or loss.
    Deliveries hear_above(const Frame& frame);
    /// A rank of this node will make no more calls. Only its first loss counts.
    Deliveries lose(int rank, std::string host, std::string how, bool notice);
    /// Whether ranks have left in good order and the other hubs have not been told. These reports are collected, so
    /// that at the end of a job not every host gets one from every rank: each hub collects those of its own ranks, and
    /// the root those of all. A hub that is not the root tells them when its last rank has left.
    bool has_departures() const { return !departures_.empty(); }
    /// Whether losses were told whose like are collected now: the root tells the first loss of a sentence at once, and
    /// those that follow with the same sentence together.
    bool collects_losses() const { return !told_.empty(); }
    /// Tells the other hubs what was collected. Called a moment after the first of it came; not called at all if all
    /// ranks leave.
    Deliveries tell_collected();
    /// A hub below is gone, with all ranks for which it spoke.
    Deliveries lose_below(int hub, std::string host, std::string how);

    /// The job cannot go on, and no rank is to blame. Open and later calls of this node's ranks fail with this
    /// sentence. Only for a hub with no hubs below.
    Deliveries end(std::string sentence);

    bool is_lost(int rank) const { return lost_.contains(rank); }
    /// Whether all ranks have met in a call, so that the job has started. Only the root knows.
    bool has_met() const { return met_; }

    static Blob encode_loss(const Loss& loss, std::uint64_t last);
    /// Returns the last call in which the lost ranks took part.
    static std::uint64_t decode_loss(std::span<const std::byte> body, Loss& loss);

  private:
    struct Round {
        Kind kind = Kind::exchange;
        int covered = 0;                            // of the ranks at and below this hub
        std::vector<std::pair<int, Blob>> entries;  // not yet passed up
        std::vector<int> waiting;                   // ranks of this node
        bool refused = false;                       // the root has been told that it must fail, its answer is awaited
        int first = -1;                             // the rank that called first
    };
    struct Gone {
        std::uint64_t last;  // the last call it took part in
        int rank;
        std::string sentence;
    };

    Round* open(std::uint64_t sequence, Kind kind, int rank, Deliveries& out);
    void settle(std::uint64_t sequence, Deliveries& out);
    void refuse(std::uint64_t sequence, Round& round, ErrorCode code, const std::string& sentence, Deliveries& out);
    void conclude(std::uint64_t sequence, const std::shared_ptr<const Blob>& answer, Deliveries& out);
    void fail(std::uint64_t sequence, const std::shared_ptr<const Blob>& answer, Deliveries& out);
    void apply(const Loss& loss, std::uint64_t last, bool own, int except, Deliveries& out);
    void collect(const Loss& loss, std::uint64_t last);
    const Gone* doom(std::uint64_t sequence) const;
    std::shared_ptr<const Blob> answer_of(std::uint64_t sequence) const;
    std::shared_ptr<const Blob> gathered(std::uint64_t sequence, Round& round) const;

    int size_;
    bool root_;
    std::size_t longest_;  // the maximal size of the body of a frame
    bool met_ = false;
    int covers_ = 0;                         // ranks at and below this hub
    std::map<int, std::uint64_t> last_;      // of this node's ranks: their last call
    std::size_t own_left_ = 0;               // of this node's ranks: how many are not lost
    std::vector<std::vector<int>> below_;    // in rising order
    std::vector<std::uint64_t> last_below_;  // of each hub below: its last contribution
    std::map<std::uint64_t, Round> rounds_;
    std::map<std::uint64_t, std::shared_ptr<const Blob>> failed_;  // of refused rounds: for ranks that call later
    std::vector<Gone> gone_;  // in the order of the losses; only those that doom more calls than the ones before
    std::set<int> lost_;
    std::optional<std::string> ended_;                    // why
    using Alike = std::pair<std::uint64_t, std::string>;  // the last call, and the sentence
    std::map<Alike, Loss> departures_, losses_;           // collected
    std::set<std::string> told_;                          // sentences of losses that were told a moment ago
};

}  // namespace rollcall::bootstrap
