/// \file
/// One collective operation on one rank, and the calls that its algorithm may use.
///
/// An algorithm is a coroutine `Task algorithm(Operation& op)`. It may use the sections of the class that are named vocabulary, and besides
///   ListedReceives          which of many receives have ended (listed_receives.hpp)
///   Publication, Reading    data in memory that the ranks of a node share (publication.hpp)
/// Ranks are those of the communicator, or of an Among (among.hpp). Every receive names its source. An operation ends when its coroutine
/// has returned and all transfers that it started have ended.
#pragma once

#include <coroutine>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/arrivals/board.hpp"
#include "runtime/engine/arguments.hpp"
#include "runtime/engine/arrivals.hpp"
#include "runtime/engine/communicator_state.hpp"
#include "runtime/engine/task.hpp"
#include "runtime/messages/early_message.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/messages/transfer.hpp"
#include "runtime/messages/waitable.hpp"

namespace rollcall::runtime {

using Algorithm = Task (*)(Operation&);

class Deputy;
class ListedReceives;
class NodeUse;

class alignas(64) Operation final : public Waitable {
  public:
    /// `communicator` must outlive the operation. See Arguments for `arguments`.
    Operation(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, Algorithm algorithm, const Arguments& arguments);

    /// The step of the message that replaces a notice where a communicator has no slots on the board.
    static constexpr std::uint64_t kArrivedStep = ~std::uint64_t{0};

    // --- vocabulary: the ranks and the call -------------------------------------------------------------------------
    int rank() const noexcept { return ranks_.rank; }
    int size() const noexcept { return ranks_.size; }
    int root() const noexcept { return ranks_.root; }
    /// The rank in the communicator of a rank of the vocabulary. They are the same unless an Among lives.
    int member(int rank) const noexcept { return ranks_.of ? ranks_.of[rank] : rank; }
    class Among;
    /// Whether an Among lives.
    bool is_among_some() const noexcept { return ranks_.of != nullptr; }
    /// The nodes of the communicator's ranks, or null (Group::nodes). An Among does not change them.
    const Nodes* nodes() const noexcept { return communicator_.group->nodes.get(); }
    const Costs& costs() const noexcept { return *communicator_.group->costs; }
    /// In a communicator between two groups: the number of ranks in the first group, which are the lowest ranks. Otherwise 0.
    int first_group() const noexcept { return communicator_.group->first_group; }
    const Arguments& arguments() const noexcept { return arguments_; }

    // --- vocabulary: messages; `co_await` a transfer, or let it run -------------------------------------------------
    Pending send(int to, transport::ConstBytes bytes, std::uint64_t step);
    /// As send(), for a rank that may not have arrived: the receiver answers if the message cannot land there.
    Pending send_ahead(int to, transport::ConstBytes bytes, std::uint64_t step);
    /// As send(), but the message does not land before its receive. Long data stays here until the receiver waits for it, so that it does
    /// not share the receiver's port with what the receiver waits for now.
    Pending send_awaited(int to, transport::ConstBytes bytes, std::uint64_t step);
    /// As send(), for messages of which each is to have the network for itself: the algorithm awaits the end of one before it sends the
    /// next. A long message then ends when its receiver has it, and not when the kernel has taken it.
    Pending send_in_turn(int to, transport::ConstBytes bytes, std::uint64_t step);
    Pending receive(int from, transport::Bytes bytes, std::uint64_t step);
    /// Whether the message of this step has come, or has begun to come.
    bool is_here(int from, std::uint64_t step) const;
    /// Whether the message of this step is in memory of this rank. receive() then copies it at once, so an algorithm may send first.
    bool has_landed(int from, std::uint64_t step) const;

    // --- vocabulary: before this rank's caller has come, and what it may have early ---------------------------------
    /// The first `bytes` bytes of arguments().data are here and stay as they are. If the caller came after its part had begun, they are
    /// copied into its buffer while it waits for the rest.
    void note_here(std::uint64_t bytes);
    /// Whether the buffers of arguments() are there. They are missing in an algorithm that forwards (AlgorithmEntry::forwards) until its
    /// caller comes.
    bool has_buffers() const noexcept { return !lacks_buffers_; }
    /// Whether parts of calls may run without their callers (ROLLCALL_DECOUPLE).
    bool is_decoupled() const noexcept;
    /// Takes a message of this rank that has come and has landed, whatever its step. Returns an empty object where there is none. For
    /// algorithms that lack their buffers and pass the message on from where it is.
    Landed take_landed(int from);

    /// Whether this rank's caller has arrived. A planned operation may begin before its caller arrives. Until then it must not touch the
    /// caller's data, but it may write where the results go.
    bool has_arrived() const noexcept { return !awaits_caller_; }
    /// When the caller is expected, on the clock of now(); or kUnknownTime.
    Nanoseconds predicted_arrival() const noexcept { return predicted_arrival_; }

    // --- vocabulary: notices on boards ------------------------------------------------------------------------------
    /// Writes on the board of rank `at` that this rank has arrived, or, if this rank has a prediction, when it expects to arrive. A later
    /// notice replaces an earlier one. Predictions are lost where a communicator has no slots on the board.
    void announce_arrival(int at);
    void announce_prediction(int at);
    /// The arrivals that this rank's board shows. The first call begins to watch the board.
    Arrivals& arrivals();

    // --- vocabulary: waiting ----------------------------------------------------------------------------------------
    /// Suspends until `predicate()` is true. It is asked again whenever a transfer of this operation has ended or a rank has arrived.
    template <class Predicate>
    auto until(Predicate predicate) {
        return Until<Predicate>(*this, std::move(predicate));
    }
    /// Waits for this rank's caller.
    auto arrival() {
        return until([this] { return has_arrived(); });
    }
    /// Lets the ranks run that share a core with this one, before an operation that watches node memory goes on: what it has published is
    /// then read while it is in the cache. Between ranks that have a core each, it costs one look. In a simulation it does nothing.
    auto give_way() {
        return until([is_over = !asks_for_way()]() mutable { return std::exchange(is_over, true); });
    }
    /// Waits for all transfers of a range of Pending.
    template <class Range>
    auto all_of(Range& transfers) {
        return until([position = transfers.begin(), end = transfers.end()]() mutable {
            while (position != end && position->done()) ++position;
            return position == end;
        });
    }
    // --- vocabulary: signals without data from rank to rank, through their boards -----------------------------------
    /// Whether the operation can use signals. The communicator needs slots on the board; the answer is the same on all its ranks.
    bool can_signal() const noexcept { return communicator_.group->has_slots; }
    /// Must be awaited before the first signal. It waits until the previous operation of this communicator that used signals has ended
    /// here. A place on the board is written again two turns later. By then its reader has gone on, because an operation that uses signals
    /// must not end before it has heard, directly or through others, that all ranks have entered it.
    auto turn() {
        if (!turn_) turn_ = ++communicator_.turns_taken;
        return until([this] { return communicator_.turns_ended + 1 == turn_; });
    }
    /// Signals to `count` ranks, beginning with `first` and continuing at rank 0 after the last one. Allowed once in each operation.
    /// Everything this rank's caller wrote before the call, to any memory, can be read by their callers after their wait.
    void signal(int first, int count);
    /// Waits for the signals of these ranks.
    auto signals(int first, int count) {
        listen_to(first, count);
        return until([this] { return listens_ == 0; });
    }

    // --- vocabulary: errors that an algorithm finds -----------------------------------------------------------------
    /// Reports that world rank `source` has made another call. All ranks are told. The other functions here do the same for sizes.
    void tell_call_differs(const Call& other, int source);
    /// Reports sizes that differ, where blocks have sizes of their own: the root counts `at_root` bytes for a rank whose block has
    /// `elsewhere` bytes, or for the ranks from `first` to `last` together, several of which have other sizes. (On a rank that is not the
    /// root, `rank` is the root.) All ranks are told. Await failure() afterwards.
    void tell_sizes_differ(int rank, std::uint64_t at_root, std::uint64_t elsewhere);
    void tell_sizes_differ(int first, int last, std::uint64_t at_root, std::uint64_t elsewhere);
    /// Reports sizes that differ in a call in which each rank counts what it sends and receives: rank `from` sends `sent` bytes to rank
    /// `to`, which counts `counted` from it. All ranks are told.
    void tell_exchange_differs(int from, int to, std::uint64_t counted, std::uint64_t sent);
    /// Reports sizes that differ between two groups: the block sizes that this group gives for the other group are not the sizes of that
    /// group's blocks. `rank` belongs to the other group. All ranks are told.
    void tell_groups_differ(int rank);
    /// Waits until the operation fails. To be used where it is certain to fail.
    auto failure() {
        return until([] { return false; });
    }

    // --- vocabulary: local work, and the time -----------------------------------------------------------------------
    /// Copies within this rank. In a simulation it takes the time that the model says.
    Pending copy(transport::Bytes into, transport::ConstBytes from);
    /// Combines two operands; `left` comes from lower ranks. All three have one size, and `into` may be either operand. Takes as long as a
    /// copy.
    Pending combine(transport::Bytes into, transport::ConstBytes left, transport::ConstBytes right);
    /// Ends when all ranks have done what they do at this moment, so that ranks that arrive together are seen together. This concerns
    /// virtual time. Between real processes it is done at once: what is visible was taken in before the operation was resumed.
    Pending moment();
    Nanoseconds now() const;
    /// The time of now() on the clock of this rank's host.
    Nanoseconds host_time() const;
    /// How many pieces of a pipelined transfer to keep under way from and to each neighbour.
    unsigned pieces_under_way() const;

    // --- for plans: before begin(), while the caller is still to arrive; afterwards, as the owner of the lane ---------
    /// Before begin(): the caller is still to arrive, at `predicted` as far as that is known. If the operation `begins_with_caller`,
    /// begin() only makes it known here, and arrive() begins it as any call: a deputy may have begun its part, and it may hand over.
    void await_caller(Nanoseconds predicted = kUnknownTime, bool begins_with_caller = false) noexcept {
        awaits_caller_ = true;
        begins_with_caller_ = begins_with_caller;
        predicted_arrival_ = predicted;
    }
    /// Before begin(): the caller stays until the end and does not leave its data to a deputy.
    void stay() noexcept { stays_ = true; }
    bool stays() const noexcept { return stays_; }
    void record() noexcept { is_recorded_ = true; }  ///< Before begin(): first_data() will be asked for.
    void predict_arrival(Nanoseconds when);
    void arrive();
    void note_arrival(Nanoseconds when) noexcept { arrived_at_ = when; }  ///< Before begin(): when the caller came, on the clock of now().
    void arrive_at(Nanoseconds when);                                     ///< As both: the caller came at that time.
    Nanoseconds arrived_at() const noexcept { return arrived_at_; }       ///< That time, or kUnknownTime.

    // --- for the engine and for the owner of the operation ----------------------------------------------------------
    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;
    /// Sets the watcher that is told when the operation ends. Call it as the owner of the lane, before the operation is done.
    void watch(Watcher& watcher) {
        on_done = [](Operation&, void* told) { static_cast<Watcher*>(told)->ended(); };
        on_done_context = &watcher;
    }

    /// Whether this rank's part is over in each earlier operation of the communicator whose sequence differs by a multiple of `period`.
    bool earlier_have_ended(std::uint64_t period) const;

    void add_awaited(std::vector<int>& peers) const;  ///< Adds the world ranks that it waits for, some of them perhaps several times.
    /// A message says that this rank of the communicator has arrived. Returns whether that is news to the operation.
    bool learn_arrived(int from);

    const Call& call() const noexcept { return call_; }
    std::uint64_t sequence() const noexcept { return key_.sequence; }
    CommunicatorState& communicator() noexcept { return communicator_; }
    Engine& engine() noexcept { return *engine_; }
    /// "broadcast(root=0, 8 bytes) #12 on world"
    std::string describe() const;
    /// When this rank first took data of another rank, or 0. Data in node memory counts only after record().
    Nanoseconds first_data() const noexcept { return first_data_; }

    /// The first bytes of the object, which every message looks at.
    static constexpr std::size_t kHotBytes = 2 * 64;
    /// Prefetches into the cache what a resumed coroutine looks at first (simulation).
    void prefetch_frame() const noexcept { foundation::prefetch(handle_.address(), kFrameBytes); }

    template <class Predicate>
    class Until final : public WaitPoint {
      public:
        Until(Operation& operation, Predicate predicate) : operation_(operation), predicate_(std::move(predicate)) {}
        bool ready() override { return predicate_(); }
        bool await_ready() { return !operation_.failed() && predicate_() && !operation_.failed(); }  // The predicate may fail it.
        void await_suspend(std::coroutine_handle<> handle) { operation_.wait_at(*this, handle); }
        void await_resume() const noexcept {}

      private:
        Operation& operation_;
        Predicate predicate_;
    };

  private:
    friend class BoardWatch;
    friend class Deputies;
    friend class Deputy;
    friend class Engine;
    friend class ListedReceives;
    friend class Pending;
    friend class Questions;
    friend class NodeLink;
    friend class NodeUse;
    friend FrameArena& arena_of(Operation& operation) noexcept;

    const EarlyMessage* find_early(int from, std::uint64_t step) const;
    /// The deputy that it belongs to, or null.
    const Deputy* own_deputy() const noexcept { return alone_ ? static_cast<const Deputy*>(on_done_context) : nullptr; }
    /// The rank whose message made that deputy begin, as long as no caller has come to it. Otherwise -1.
    int called_by() const noexcept;

    /// For the engine's table of operations under way.
    struct ByCall {
        using Key = CallKey;
        static const CallKey& key(const Operation& operation) noexcept { return operation.key_; }
        static Operation*& next(Operation& operation) noexcept { return operation.next_active_; }
    };

    static constexpr std::size_t kFrameBytes = 5 * 64;
    /// Something that happens inside this rank. `start(transfer)` asks the machine for it.
    template <class Start>
    Pending inside(transport::Bytes into, std::uint64_t bytes, Start start);
    Pending send_flagged(int to, transport::ConstBytes bytes, std::uint64_t step, std::uint8_t flags);
    Pending receive(int from, transport::Bytes bytes, std::uint64_t step, bool listed);
    void put_notice(int at, Nanoseconds arrival);
    /// For the engine: a receive has ended that is listed, or that takes the place of a notice.
    void note_end(const Transfer& transfer);
    bool asks_for_way() noexcept;  ///< Returns whether there is anything to wait for.
    void listen_to(int first, int count);
    bool has_signalled(int from) const;
    /// Writes a signal that got lost to its place on the board; its writer has told of it by a message. (If it is overwritten there once
    /// more, its writer is asked once more: only a few late messages of former communicators can do that.)
    void hear(int from);
    bool heard_all();
    int wrapped(int rank) const noexcept { return rank < size() ? rank : rank - size(); }
    void wait_at(WaitPoint& point, std::coroutine_handle<> handle) noexcept {
        wait_point_ = &point;
        handle_ = handle;
    }

    // The next two cache lines hold what every message of the operation needs (see Engine).
    bool ready_ = false;  ///< It is in the engine's list of operations to look at.
    bool awaits_caller_ = false, begins_with_caller_ = false;
    bool has_used_node_ = false;  ///< It has, or has had, a NodeUse.
    bool watches_node_ = false;   ///< It is in the engine's list of operations that watch node memory.
    bool is_recorded_ = false;    ///< See record().
    CommunicatorState& communicator_;
    Engine* engine_ = nullptr;
    WaitPoint* wait_point_ = nullptr;  ///< Null: the operation has not started yet, or has ended.
    std::coroutine_handle<> handle_;
    Transfer* transfers_ = nullptr;  ///< The transfers that have not ended.
    Operation* next_ready_ = nullptr;
    CallKey key_;
    Call call_;
    std::unique_ptr<Arrivals> arrivals_;

    /// The ranks of which the vocabulary speaks. `of` is null where they are all ranks of the communicator.
    struct Ranks {
        const int* of;
        int size, rank, root;
        std::uint64_t first_step;
    };

    Ranks ranks_;
    Nanoseconds first_data_ = 0;
    Algorithm algorithm_;
    Arguments arguments_;
    Task task_;
    Operation* next_active_ = nullptr;  ///< In the engine's table of operations under way.
    Nanoseconds predicted_arrival_ = kUnknownTime, arrived_at_ = kUnknownTime;
    Nanoseconds begun_at_ = 0, probed_at_ = 0;
    int probe_next_ = 0;                  ///< The world rank from which to go on asking in this round; 0: begin a new round.
    std::uint64_t turn_ = 0;              ///< 0: the operation uses no signals.
    int listens_from_ = 0, listens_ = 0;  ///< The rank whose signal is looked for, and the number of ranks from there on.
    NodeUse* node_uses_ = nullptr;
    bool alone_ = false, lacks_buffers_ = false;  ///< The first: it belongs to a deputy. The second: it has no buffers yet.
    bool stays_ = false;                          ///< Its caller waits until it is over.
    /// If its caller stays although it could leave: how long it expects to wait, in nanoseconds, from `waits_since_` on. Otherwise 0.
    float expected_wait_ = 0;
    Nanoseconds waits_since_ = 0;
    Deputy* deputy_ = nullptr;          ///< The deputy that does this caller's part; else null.
    ListedReceives* listed_ = nullptr;  ///< Of this operation, or null.

  public:
    /// Called when the operation is done, for owners that do not wait for it. The engine does not use the operation after the call.
    void (*on_done)(Operation&, void*) = nullptr;
    void* on_done_context = nullptr;
};

class Pending::Awaiter final : public WaitPoint {
  public:
    explicit Awaiter(Transfer* transfer) : transfer_(transfer) {}
    bool ready() override { return transfer_->stage == Transfer::Stage::done; }
    bool await_ready() const noexcept {
        return !transfer_ || (transfer_->stage == Transfer::Stage::done && !transfer_->operation->failed());
    }
    void await_suspend(std::coroutine_handle<> handle) { transfer_->operation->wait_at(*this, handle); }
    /// The number of bytes that came.
    std::uint64_t await_resume() const noexcept { return transfer_ ? transfer_->received : 0; }

  private:
    Transfer* transfer_;
};

inline Pending::Awaiter Pending::operator co_await() const noexcept { return Awaiter(transfer_); }

/// The part of `bytes` that begins at `offset` and has `size` bytes. A slice of a phantom is a phantom.
inline transport::Bytes slice(transport::Bytes bytes, std::uint64_t offset, std::uint64_t size) {
    return {bytes.data ? static_cast<std::byte*>(bytes.data) + offset : nullptr, size};
}
inline transport::ConstBytes slice(transport::ConstBytes bytes, std::uint64_t offset, std::uint64_t size) {
    return {bytes.data ? static_cast<const std::byte*>(bytes.data) + offset : nullptr, size};
}

}  // namespace rollcall::runtime
