/// \file
/// The machine of a lane: a transport, the matching of messages, early data, credits, and the tasks. One screen of state;
/// everything here may be called only by the owner of the lane (lane.hpp), and nothing here knows threads.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/landing/landing.hpp"
#include "runtime/lane/frame_arena.hpp"
#include "runtime/lane/match_table.hpp"
#include "runtime/lane/operation.hpp"
#include "runtime/lane/peer_table.hpp"
#include "runtime/lane/transfer.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// A message that no receive had been posted for. Bounded: eager ones by credits, landed ones by the budget; an offered
/// one costs a few hundred bytes and its data stays at the sender.
struct EarlyMessage final : transport::Completion {
    enum class Stage : std::uint8_t { held, offered, landing, landed };

    void complete(transport::Outcome outcome) noexcept override;

    MatchKey key;
    EarlyMessage* match_next = nullptr;
    Engine* engine = nullptr;
    CommunicatorState* communicator = nullptr;  ///< Null: point to point, or a communicator not known yet.
    EarlyMessage* next = nullptr;               ///< Of the communicator, or of the unknown ones.
    EarlyMessage* previous = nullptr;
    Transfer* claimed = nullptr;  ///< A receive that waits for the landing to end.
    transport::Offer offer;
    transport::Bytes buffer;
    Call call;
    std::uint64_t size = 0;
    std::uint32_t charge = 0;  ///< Eager allowance to give back.
    std::uint32_t ordinal = 0;
    Stage stage = Stage::held;
    bool dropped = false;       ///< Nobody wants it any more; freed when the landing ends.
    bool from_landing = false;  ///< The buffer counts in the budget; else it is of the heap.
    bool waits_for_landing = false;
};

class alignas(64) Engine final : public transport::Sink {
  public:
    struct Options {
        int rank = 0;  ///< Of the world communicator.
        int size = 1;
        std::uint64_t landing_bytes = 0;
        std::uint64_t landing_longest = 0;  ///< 0: of any length.
        std::uint64_t eager_bytes = 0;
        Nanoseconds mismatch_probe = 50'000'000;
        AlgorithmName algorithm_name = nullptr;  ///< For messages; null: they are numbered.
        /// Names of hosts by rank, for messages; empty: unnamed.
        std::vector<std::string> hosts;
        bool trace = false;  ///< Note when first data came (costs a look at the clock).
    };
    /// The transport and the arena must outlive the engine.
    Engine(transport::Transport& transport, FrameArena& arena, Options options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Eager allowance that this process grants each peer, and whether eager messages may carry data. All ranks' go
    /// round with the addresses; the defaults are this process's own.
    std::uint32_t granted_allowance() const noexcept { return granted_; }
    bool accepts_eager_data() const noexcept { return options_.landing_bytes > 0; }
    /// What is wrong with the clock of this rank's host (tests).
    void set_host_clock(const ClockModel& clock) { host_clock_ = clock; }
    void set_hosts(std::vector<std::string> hosts) { options_.hosts = std::move(hosts); }
    /// Why this job cannot end in good order: a rank that died, or went out of reach. Nothing: it can.
    std::optional<Error> loss() const;
    void set_allowance(int peer, std::uint32_t allowance, bool accepts_data);

    /// A number for a communicator that this rank is about to make with others. No rank brings it a second time, and it is
    /// above the ids of all communicators this rank has known. The highest number of a communicator's members becomes its
    /// id: so an unknown one below all that is expected was here, and is no more.
    std::uint64_t expect_communicator();
    /// The communicator that this number was brought for has been added, or will never be.
    void stop_expecting(std::uint64_t number);
    void add(CommunicatorState& communicator);
    /// No operation of it may be active, no receive posted. What came for it is let go, and so is what comes yet.
    void remove(CommunicatorState& communicator);

    void start(Operation& operation);
    void send(Transfer& transfer);
    void receive(Transfer& transfer);
    /// Whether a point-to-point message for this receive has come already.
    const EarlyMessage* find_early(const MatchKey& key) const { return early_.find(key); }

    void abandon(Operation& operation, const Error& error);
    void abandon(Transfer& transfer, const Error& error);

    /// Moves everything that can move. Returns the number of things that happened.
    unsigned progress() {
        unsigned happened = transport_.progress();
        if (!watching_.empty() && !transport_.tells_of_puts()) happened += look_at_board();
        if (!listening_.empty() && !transport_.tells_of_puts()) happened += listen();
        if (ready_head_) happened += run_ready();
        return happened;
    }
    /// Whether an operation went through without any look at the transport, since this was last asked. A rank that comes last to
    /// one barrier after the other would never look: who waits for a message of its own must not wait for that.
    bool take_unserved() noexcept { return std::exchange(unserved_, false); }
    /// Resumes what became ready. progress() does it; simulations call it themselves.
    unsigned run_ready();
    /// Time-driven work: questions to ranks that keep a call waiting, buffers to be got back by force. Returns when it
    /// wants to be called next.
    Nanoseconds tick(Nanoseconds now);

    /// A process is known to be dead: everything that depends on it fails, now and later.
    void on_death(int rank, const std::string& how);
    /// Everything fails, now and later.
    void on_job_ended(const std::string& why);

    transport::Transport& transport() noexcept { return transport_; }
    FrameArena& arena() noexcept { return arena_; }
    Landing& landing() noexcept { return landing_; }
    int rank() const noexcept { return options_.rank; }
    /// Grows by one whenever a Waitable is done.
    std::uint64_t finished() const noexcept { return finished_; }
    std::uint64_t early_messages() const noexcept { return early_.size(); }
    /// Communicators that were removed while others are expected, whose ids do not tell which of the two they are.
    std::size_t remembered_communicators() const noexcept { return removed_.size(); }
    /// Whether tick() has anything to look after.
    bool busy() const noexcept { return active_operations_ > 0 || !withdrawn_.empty() || !unreachable_.empty(); }
    std::string name_of(int rank) const;  ///< "rank 3 on host a"
    /// Fetches what every message looks at first into the cache (simulation).
    void prefetch() const noexcept { transport::prefetch(this, kHotBytes); }
    /// Peers may leave from now on: their going is no failure.
    void expect_departures() noexcept { closing_ = true; }

    // transport::Sink
    void on_message(std::span<const std::byte> header, transport::ConstBytes payload) noexcept override;
    void on_offer(std::span<const std::byte> header, const transport::Offer& offer) noexcept override;
    void on_peer_unreachable(int peer, std::string_view why) noexcept override;
    void on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept override;

  private:
    friend class Operation;
    friend class Transfer;
    friend class Pending;
    friend struct EarlyMessage;
    struct Incoming;  ///< A message being delivered: eager or offered.

    // matching
    void deliver(const Incoming& message);
    void receive_message(Incoming& message, std::span<const std::byte> header) noexcept;
    void deliver_overtaking(PeerState& peer);
    EarlyMessage& keep(const Incoming& message);
    void discard(const Incoming& message);
    void match(Transfer& transfer, EarlyMessage& early);
    void accept(Transfer& transfer, const Incoming& message);
    bool fits(Transfer& transfer, const Call& call, std::uint64_t size);
    void fetch(Transfer& transfer, const transport::Offer& offer, std::uint64_t size);
    void let_go(EarlyMessage& early);
    void let_go_all(EarlyMessage* forgotten);
    /// Early messages of the operations from `first` to `last`.
    void let_go_of(CommunicatorState& communicator, std::uint64_t first, std::uint64_t last);
    /// Early messages of communicators that are not here and never will be.
    void let_go_of_past();
    void forget(EarlyMessage& early);
    void free_early(EarlyMessage& early);
    bool land(EarlyMessage& early);
    bool land_now(EarlyMessage& early);
    void land_waiting();
    void after_landing(EarlyMessage& early, transport::Outcome outcome);
    void copy_out(Transfer& transfer, EarlyMessage& early);
    static void link(EarlyMessage*& list, EarlyMessage& early) noexcept;
    static void unlink(EarlyMessage*& list, EarlyMessage& early) noexcept;

    // transfers and operations
    Transfer& new_transfer(Operation& operation, Transfer::Direction direction, int peer, transport::Bytes buffer, std::uint64_t step);
    void on_deferred(const CollectiveHeader& header);
    void finish(Transfer& transfer);
    void finish_failed(Transfer& transfer, const Error& error);
    void lose(Transfer& transfer);
    void fail_lost(int peer);
    void free_transfer(Transfer& transfer);
    void touch(Operation& operation);
    void run(Operation& operation);
    void finish(Operation& operation);
    void fail(Operation& operation, const Error& error);
    void withdraw(Transfer& transfer);

    // control
    static bool take_allowance(PeerState& peer, std::uint64_t bytes);
    /// Eager allowance to give back to this peer with the next message: whole units, at most so many.
    std::uint32_t take_owed(int peer, std::uint32_t unit = 1, std::uint32_t most = ~std::uint32_t{0});
    void give_credit(int peer, std::uint32_t charge);
    void send_control(int peer, MessageKind kind, const CollectiveHeader& header, std::string_view text = {});
    void on_control(const CollectiveHeader& header, transport::ConstBytes payload);
    void mismatch(CommunicatorState& communicator, std::uint64_t sequence, const Call& mine, const Call& other, int source);
    void break_communicator(CommunicatorState& communicator, std::uint64_t from, const Error& error, bool tell);
    void tell_broken(const CommunicatorState& communicator, int peer);
    void tell_failed(int peer, std::uint64_t communicator, std::uint64_t from, const Error& error);
    void answer(const CollectiveHeader& probe, CommunicatorState& communicator);
    void answer_for_gone(const CollectiveHeader& probe);
    void tell_entered(const CollectiveHeader& probe, bool arrived, std::span<const std::uint64_t> signalled);
    void on_entered(const CollectiveHeader& header);
    bool check_call(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, int source);
    void probe(Operation& operation);
    unsigned look_at_board();
    unsigned listen();
    void put_signals(Operation& operation, int first, int count);
    void end_turn(Operation& operation);
    /// Nudges a peer that sleeps, after a put which does not wake it.
    void wake(int peer);
    void see(Operation& operation, int rank, const BoardSlot& slot);
    CommunicatorState* find(std::uint64_t id) const;
    /// Ranks take turns with numbers of communicators: rank 0 to n-1 have those of the first turn, and so on.
    std::uint64_t turn_of(std::uint64_t id) const noexcept { return id / static_cast<std::uint64_t>(options_.size); }
    std::uint64_t lowest_turn_expected() const noexcept { return expected_.empty() ? next_turn_ : turn_of(expected_.front()); }
    /// Whether the communicator was here, or will never be.
    bool is_past(std::uint64_t id) const { return !find(id) && (turn_of(id) < lowest_turn_expected() || removed_.contains(id)); }
    Operation* find_active(CommunicatorState& communicator, std::uint64_t sequence) const;
    Error dead(int rank) const;
    static int rank_in(const Group& group, int world_rank) noexcept;

    static constexpr std::size_t kHotBytes = 3 * 64;
    struct Unreachable {
        int peer;
        Nanoseconds since;
        std::string why;
    };

    // Three cache lines with what every collective message needs: in a simulation of many ranks nothing of a rank is
    // in the cache.
    transport::Transport& transport_;
    FrameArena& arena_;
    Options options_;
    Operation* ready_head_ = nullptr;
    Operation* ready_tail_ = nullptr;
    std::uint64_t finished_ = 0;
    std::uint64_t owed_ = 0;  ///< Eager allowance that is owed to peers, all together.
    std::uint32_t granted_;
    bool losses_ = false;  ///< Somebody died, or the job has ended.
    bool closing_ = false;
    bool unserved_ = false;
    MatchTable<Transfer> posted_;
    MatchTable<EarlyMessage> early_;

    PeerTable peers_;
    std::uint64_t active_operations_ = 0;
    std::unordered_map<int, std::string> dead_;  ///< And how they died.
    std::unique_ptr<Error> ended_;               ///< The whole job is over.
    Landing landing_;
    std::unordered_map<std::uint64_t, CommunicatorState*> communicators_;
    std::uint64_t next_turn_ = 0;                   ///< Above those of all communicators that were ever here.
    std::vector<std::uint64_t> expected_;           ///< Numbers brought for communicators that are being made, ascending.
    std::unordered_set<std::uint64_t> removed_;     ///< Communicators that were, in turns that may still come.
    EarlyMessage* unknown_early_ = nullptr;         ///< For communicators that are not known here yet.
    std::list<EarlyMessage*> waiting_for_landing_;  ///< First in, first out.
    /// What is answered for a communicator that is no more: it may be the notices and signals of its last operations that others
    /// miss. Members as those of CommunicatorState.
    struct Gone {
        std::uint64_t id, begun;
        std::array<std::uint64_t, 2> signalled;
        std::uint64_t broken_from;
        std::unique_ptr<Error> broken;
    };
    static constexpr std::size_t kGoneRemembered = 256;
    std::list<Gone> gone_;                                      ///< Communicators that were, the last of them.
    std::vector<Operation*> watching_;                          ///< Operations that watch the board for arrivals.
    std::vector<Operation*> listening_;                         ///< And for signals.
    const std::byte* board_ = nullptr;                          ///< Where they look.
    std::vector<std::pair<Transfer*, Nanoseconds>> withdrawn_;  ///< Abandoned, but their buffers are still in use; since when.
    std::vector<std::pair<Transfer*, Nanoseconds>> lost_;       ///< And since when.
    std::vector<Unreachable> unreachable_;                      ///< Reported by the transport; see tick().
    ClockModel host_clock_;                                     ///< From the transport's clock to that of this rank's host.
};

}  // namespace rollcall::runtime
