/// \file
/// The engine of a lane. It drives one transport, matches messages with receives, keeps early messages, counts credits, and runs the
/// coroutines of operations. Only the owner of the lane (lane.hpp) may call it. It knows nothing of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/agreements.hpp"
#include "runtime/engine/announcements.hpp"
#include "runtime/engine/board_watch.hpp"
#include "runtime/engine/communicators.hpp"
#include "runtime/engine/deputies.hpp"
#include "runtime/engine/early_messages.hpp"
#include "runtime/engine/engine_options.hpp"
#include "runtime/engine/frame_arena.hpp"
#include "runtime/engine/lifelines.hpp"
#include "runtime/engine/node_link.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/questions.hpp"
#include "runtime/landing/landing.hpp"
#include "runtime/messages/backlog.hpp"
#include "runtime/messages/early_message.hpp"
#include "runtime/messages/kept_send.hpp"
#include "runtime/messages/match_table.hpp"
#include "runtime/messages/peek.hpp"
#include "runtime/messages/peers.hpp"
#include "runtime/messages/transfer.hpp"
#include "transports/machine.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class alignas(64) Engine final : public transport::Sink {
  public:
    using Options = EngineOptions;
    /// The transport, the machine and the arena must outlive the engine.
    Engine(transport::Transport& transport, transport::Machine& machine, FrameArena& arena, Options options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// The eager allowance that this process grants each peer, and whether eager messages to it may carry data. Ranks exchange both values
    /// with their addresses. Until then an engine assumes its own values for its peers.
    std::uint32_t granted_allowance() const noexcept { return peers_.granted(); }
    bool accepts_eager_data() const noexcept { return options_.landing_bytes > 0; }
    void close() noexcept;  ///< Gives up the parts that run without their callers. Only the destructor may follow.
    void set_host_clock(const ClockModel& clock) { host_clock_ = clock; }  ///< Sets the error of the clock of this rank's host (for tests).
    void set_hosts(std::vector<std::string> hosts) { options_.hosts = std::move(hosts); }
    void set_signs_of_life(SignsOfLife* signs);  ///< Of the peers' hosts; null: nothing watches them. It must outlive the engine.
    /// Sets the memory that this rank shares with other ranks of its node; null: none. It must outlive the engine's operations.
    void set_node(node::NodeMemory* memory) noexcept { node_.set_memory(memory); }
    node::NodeMemory* node() noexcept { return node_.memory(); }
    NodeLink& node_link() noexcept { return node_; }
    void set_sleeping(bool sleeps) noexcept;  ///< Tells the ranks that share memory with this one. They wake it while it sleeps.
    bool sleeps() const noexcept { return sleeps_; }
    /// Why this job cannot end in good order: a rank is dead or out of reach, and is not excused. Empty: the job can end in good order.
    std::optional<Error> loss() const;
    bool has_gone_on() const noexcept { return peers_.any_excused(); }  ///< The ranks that are left have agreed to go on without others.
    /// The first message that was lost after its send() had ended, in a sentence. Empty: there is none. loss() tells of it, too.
    const std::string& undelivered() const noexcept { return undelivered_; }
    /// Says how to send to a peer: its allowance, whether it accepts eager data, and whether messages to it go over TCP.
    void set_peer(int peer, std::uint32_t allowance, bool accepts_data, bool over_tcp);

    std::uint64_t expect_communicator() { return communicators_.expect(); }                     ///< As Communicators::expect().
    void stop_expecting(std::uint64_t number, std::optional<std::uint64_t> id = std::nullopt);  ///< As stop_expecting() there.
    void add(CommunicatorState& communicator);
    /// Removes a communicator that has no active operation and no posted receive. Its messages are dropped, now and later.
    void remove(CommunicatorState& communicator);
    /// As remove(), for a communicator whose deputies may still be under way. It is removed when they have ended.
    void retire(std::unique_ptr<CommunicatorState> communicator);

    /// Begins something that a caller waits for, and counts it.
    void begin(Waitable& waitable) {
        waitable.begin(*this);
        ++begun_;  // It is not counted if it could not begin.
    }
    void end_unbegun(Waitable& waitable) noexcept;  ///< Call it where what begin() throws is caught: it ends with that as its error.
    void break_communicator(CommunicatorState& communicator, std::uint64_t from, const Error& error, bool tell);
    void begin_or_end(Waitable& waitable) noexcept;  ///< As begin(), for another thread, which cannot catch what begin() throws.
    /// What callers wait for, or will wait for: requests, iterations of plans, and blocking calls.
    struct UnderWay {
        std::uint64_t operations, messages;
    };
    UnderWay under_way() const noexcept;
    std::string examples_under_way() const;  ///< Names a collective operation and a message that is waited for.
    std::uint64_t deputies_under_way() const noexcept { return deputies_.under_way(); }      ///< Deputies whose operations are under way.
    std::uint64_t kept_sends() const noexcept { return kept_sends_.size(); }                 ///< Messages that keep() has copied.
    std::uint64_t begun_before_callers() const noexcept { return deputies_.begun_early(); }  ///< Deputies that a message has begun, so far.

    void start(Operation& operation);
    void send(Transfer& transfer);
    void receive(Transfer& transfer);
    void peek(Peek& peek);
    void end_peek(Peek& peek, const Error* error);  ///< With success where `error` is null.
    /// The size of the next early message of this key, if there is one. Asks for a message that may be in its sender's backlog. Throws
    /// Error{peer_failed} if there is none and the peer is gone.
    std::optional<std::uint64_t> size_of_next(const MatchKey& key);

    void abandon(Operation& operation, const Error& error);
    void abandon(Transfer& transfer, const Error& error);

    /// How long the caller of a blocking send should wait before keep() is tried; kNever: it does not apply.
    Nanoseconds patience(const Transfer& send) const noexcept;
    /// If the receiver has not begun to take this message, and there is room: copies it into landing memory, and ends the send.
    void keep(Transfer& send);

    /// Moves everything that can move. Returns the number of events that it has handled.
    unsigned progress() {
        unsigned happened = node_.mail() ? node_.take_mail() : 0;
        if (happened == 0 || !node_.mail()->others_can_wait()) happened += transport_.progress();
        if (!tells_of_puts_) {
            if (board_.is_watched()) happened += board_.look(false);
            if (board_.is_listened()) happened += board_.listen();
            if (node_.is_watched()) happened += node_.look();
        }
        if (ready_head_ || has_early_calls_) happened += run_ready();
        return happened || !callers_lack_data_ ? happened : deputies_.copy_for_callers();
    }
    /// Resumes the operations that have become ready. progress() does this; simulations call it themselves.
    unsigned run_ready();
    /// Whether an operation has asked since the last call that other ranks of this core run first (Operation::give_way()).
    bool gives_way() noexcept { return std::exchange(gives_way_, false); }
    /// Does the work that depends on time (docs/architecture/lane.md). Call it at due().
    void tick(Nanoseconds now) noexcept;
    /// When tick() is to be called next; kNever: not for now. A thread that sleeps must wake at this time.
    Nanoseconds due() const noexcept { return due_; }

    void take_what_has_come();  ///< Calls progress() until nothing has come. Call it when ranks have died, before the next two.
    /// The process of this rank is known to be dead. Everything that depends on it fails, now and later. Over TCP, what the rank sent may
    /// still be on its way. So there it fails a short time later.
    void on_death(int rank, const std::string& how);
    void on_job_ended(const std::string& why, int by = -1);  ///< The same for the whole job, which rank `by` has ended (-1: none).
    bool fails_later() const noexcept { return peers_.any_heard_out(); }  ///< What depends on a dead rank fails in a later tick().

    transport::Transport& transport() noexcept { return transport_; }
    FrameArena& arena() noexcept { return arena_; }
    Landing& landing() noexcept { return landing_; }
    Agreements& agreements() noexcept { return agreements_; }
    bool tells_of_puts() const noexcept { return tells_of_puts_; }    ///< As the transport does.
    bool has_model_time() const noexcept { return has_model_time_; }  ///< Copies take virtual time (simulation).
    int rank() const noexcept { return options_.rank; }
    const Options& options() const noexcept { return options_; }
    /// The operation under way of this call, or null.
    Operation* find_active(std::uint64_t communicator, std::uint64_t sequence) const { return active_.find({communicator, sequence}); }
    /// Whether messages about failures are still on their way out of this process.
    bool has_failure_notices_under_way() const noexcept { return notices_under_way_ > 0 || (announces_ && announcements_.any_round()); }
    std::uint64_t finished() const noexcept { return finished_; }          ///< Grows by one whenever a Waitable is done.
    std::uint64_t look_changes() const noexcept { return look_changes_; }  ///< Grows when size_of_next() may do something else now.
    std::uint64_t early_messages() const noexcept { return early_.by_key().size(); }
    /// How many entries of tables, of lists and of the board were looked at (MatchTable::steps()). Tests check what searches cost.
    std::uint64_t steps() const noexcept;
    std::size_t remembered_communicators() const noexcept { return communicators_.ambiguous(); }  ///< As Communicators::ambiguous().
    std::string name_of(int rank) const;                                                          ///< "rank 3 on host a"
    void prefetch() const noexcept { foundation::prefetch(this, kHotBytes); }  ///< What every message looks at first (simulation).
    /// This rank's caller waits in Job::finalize() and makes no more calls. If another rank waits for it in a call, both ranks are told.
    void expect_no_call();
    /// All ranks have come to the end of the job. From now on a peer that leaves is no failure. Messages that no rank received are dropped.
    void expect_departures();
    const Error* untold() const;  ///< As Communicators::untold(), without failures that excused ranks have caused.

    // transport::Sink
    void on_message(std::span<const std::byte> header, transport::ConstBytes payload) noexcept override;
    void on_offer(std::span<const std::byte> header, const transport::Offer& offer) noexcept override;
    void on_peer_unreachable(int peer, std::string_view why) noexcept override;
    void on_deaf(int peer) noexcept override;
    void on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept override;

  private:
    friend class Agreements;
    friend class Announcements;
    friend class BoardWatch;
    friend class CallerNotice;
    friend class Deputies;
    friend class Deputy;
    friend class EarlyMessages;
    friend class KeptSend;
    friend class Operation;
    friend class Transfer;
    friend class Pending;
    friend class NodeLink;
    friend class Questions;
    friend class ShortCall;
    friend struct EarlyMessage;
    struct Incoming;  ///< A message that is being delivered: eager or offered.

    // matching
    void deliver(const Incoming& message);
    void receive_message(Incoming& message, std::span<const std::byte> header) noexcept;
    void set_aside(PeerState& peer, EarlyMessage& early);
    void deliver_overtaking(PeerState& peer);
    EarlyMessage& keep(const Incoming& message);
    void discard(const Incoming& message);
    void match(Transfer& transfer, EarlyMessage& early);
    void accept(Transfer& transfer, const Incoming& message);
    bool fits(Transfer& transfer, const Call& call, int caller, std::uint64_t size);
    bool fits_own_size(Transfer& transfer, const Call& call, int caller, std::uint64_t size);
    int caller_of(const CollectiveHeader& header) const;  ///< The world rank that made the call to which this message belongs.
    void fetch(Transfer& transfer, const transport::Offer& offer, std::uint64_t size, EarlyMessage* early = nullptr);
    void copy_out(Transfer& transfer, EarlyMessage& early);

    // transfers and operations
    Transfer& new_transfer(Operation& operation, Transfer::Direction direction, int peer, transport::Bytes buffer, std::uint64_t step);
    void on_deferred(const CollectiveHeader& header);
    void finish(Transfer& transfer);
    void finish_special(Transfer& transfer);
    void finish_failed(Transfer& transfer, const Error& error);
    void lose(Transfer& transfer);
    // Point-to-point sends that wait here (Backlog).
    void transmit(Transfer& transfer, PeerState& peer);
    bool may_go(const Transfer& transfer, const PeerState& peer);
    bool is_short(const Transfer& transfer, const PeerState& peer) const noexcept;
    bool may_be_eager(const Transfer& transfer);
    void put_back(Transfer& transfer);
    void work_off_backlog(int peer);
    void tell_of_backlog(int peer, bool there_is);
    void ask_for(const MatchKey& key, MessageKind kind = MessageKind::wanted);
    void on_wanted(const CollectiveHeader& header);
    void on_backlog(const CollectiveHeader& header);
    bool refuses(const Transfer& receive) const { return agrees_ && !receive.operation && agreements_.refusal(receive.key.communicator); }
    void receive_again(Transfer& transfer);  ///< The sender took its message back: it waits for the next one.
    void free_transfer(Transfer& transfer);
    void touch(Operation& operation);
    void call_algorithm(Operation& operation);
    void give_up(Operation& operation, const std::exception_ptr& why) noexcept;
    void run(Operation& operation);
    void finish(Operation& operation);
    void fail(Operation& operation, const Error& error);
    void withdraw(Transfer& transfer);

    /// Whether this much data may be kept for callers that leave. Early messages keep at least half of the budget.
    bool may_keep(std::uint64_t bytes) noexcept;
    bool has_active(const CommunicatorState& communicator) const;
    void remove_if_idle(CommunicatorState& communicator);

    // peers
    /// The transport lost the peer. The bootstrap may know the reason better, and has a short time to report it.
    void suspect(int peer, std::string what);
    /// Declares the peer gone; every loss of a peer ends here. Fails what depends on it, now and later, and breaks its communicators.
    void declare_gone(int peer, const std::string& what);
    bool may_still_send(int peer, Nanoseconds now);  ///< Whether what a dead peer has sent is still on its way, as far as is known.
    void end_job();
    /// Fails receives and peeks: from this peer (-1: from all), of this communicator (0: of all).
    void fail_posted(int peer, const Error& error, std::uint64_t communicator = 0);
    void fail_backlog(int peer, const Error& error);
    void show(const EarlyMessage& early);  ///< This message is now the next one of its key: ends the peeks that wait for it.
    void look_for_signs_of_life(Nanoseconds now);

    // control
    void give_credit(int peer, std::uint32_t charge);
    void send_control(int peer, MessageKind kind, const CollectiveHeader& header, std::string_view text = {});
    void on_control(const CollectiveHeader& header, transport::ConstBytes payload);
    void tell_failed(int peer, std::uint64_t communicator, std::uint64_t from, const Error& error, std::uint8_t flags = 0);
    void want_tick(Nanoseconds when) noexcept { due_ = std::min(due_, when); }
    /// An operation waits: tick() looks at it soon, together with others that began meanwhile.
    void watch_over_operations() noexcept {
        want_tick(questions_.asked_at() + options_.mismatch_probe / kLooksPerProbe);
        watch_over_peers();
    }
    /// Something waits for a peer: tick() looks later whether the peer's host still answers.
    void watch_over_peers() noexcept {
        if (!has_signs_) return;
        awaits_peers_ = true;
        want_tick(next_look_);
    }
    Error dead(int rank) const, unreadable(int peer) const;
    static constexpr Nanoseconds kLooksPerProbe = 4;
    static constexpr std::size_t kHotBytes = 3 * 64;

    // The next three cache lines hold what every collective message needs. (In a large simulation, nothing of a rank is in the cache.)
    transport::Transport& transport_;
    transport::Machine& machine_;
    FrameArena& arena_;
    Options options_;
    Operation *ready_head_ = nullptr, *ready_tail_ = nullptr;
    std::uint64_t begun_ = 0, finished_ = 0;  ///< Waitables that were begun, and that have ended.
    Nanoseconds due_ = kNever;
    bool closing_ = false, finalizing_ = false;
    bool has_signs_ = false;                                    ///< Whether signs_of_life_ is set.
    bool awaits_peers_ = false;                                 ///< Something has waited for peers since the last look.
    bool has_early_calls_ = false, callers_lack_data_ = false;  ///< There is work for functions of deputies_.
    bool gives_way_ = false;                                    ///< See gives_way().
    bool announces_ = false, agrees_ = false;                   ///< There is something in announcements_ or agreements_.
    bool sleeps_ = false;                                       ///< The value that set_sleeping() gave.
    const bool tells_of_puts_ = transport_.tells_of_puts();
    const bool has_model_time_ = machine_.has_model_time();
    MatchTable<Transfer> posted_;
    EarlyMessages early_{*this};

    Peers peers_;
    MatchTable<Operation, Operation::ByCall> active_;  ///< Operations under way.
    Communicators communicators_;
    Backlog backlog_;
    Announcements announcements_{*this};
    Agreements agreements_{*this};
    Questions questions_{*this};
    std::unique_ptr<Error> ended_, ending_;  ///< Set when the whole job has ended, or will have when dead ranks have been heard out.
    Landing landing_;
    std::uint64_t notices_under_way_ = 0, other_steps_ = 0, look_changes_ = 0;
    SignsOfLife* signs_of_life_ = nullptr;
    Nanoseconds next_look_ = 0;    ///< When tick() looks for signs of life again.
    MatchTable<Peek> peeks_;       ///< Peeks that have not seen a message yet.
    std::vector<int> looked_for_;  ///< Peers of which size_of_next() has found no message (PeerState::looked_for).
    BoardWatch board_{*this};
    NodeLink node_{*this};
    Deputies deputies_{*this};
    std::vector<std::unique_ptr<CommunicatorState>> retired_;
    KeptSend::List kept_sends_;
    std::string undelivered_;  ///< The first message of a KeptSend that was lost, in a sentence; empty: there is none. loss() tells of it.
    ClockModel host_clock_;    ///< Converts the machine's clock to the clock of this rank's host.
};

}  // namespace rollcall::runtime
