/// \file
/// One collective operation on one rank, and the vocabulary its algorithm is written in.
///
/// An algorithm is a coroutine `Task algorithm(Operation& op)`. What it can say:
///   op.send(to, bytes, step), op.receive(from, bytes, step)   start a transfer; `co_await` it, or let it run
///   op.all_of(transfers), op.any_of(predicate)                wait for several
///   op.is_here(from, step)                                    is this peer's data already here?
///   op.has_arrived(), op.predicted_arrival()                  of this rank's own caller: a planned operation begins before it
///   op.announce_arrival(at), op.announce_prediction(at)       notices to another rank's board
///   op.arrivals()                                             what this rank's board says of the others
///   op.turn(), op.signal(first, count), op.signals(first, count)   words without data between all ranks, by their boards
///   op.now(), op.copy(into, from), op.combine(into, left, right)
///   Publication, Reading                                      data in memory that the ranks of a node share (publication.hpp)
///   op.host_time()                                            for the synchronisation of clocks
/// Ranks are those of the communicator. Every receive names its source. An operation ends when its coroutine has
/// returned and all transfers it started have ended.
#pragma once

#include <coroutine>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "foundation/combiner.hpp"
#include "runtime/arrivals/board.hpp"
#include "runtime/lane/communicator_state.hpp"
#include "runtime/lane/task.hpp"
#include "runtime/lane/transfer.hpp"
#include "runtime/lane/waitable.hpp"

namespace rollcall::runtime {

struct ClockSynchronization;

/// Where a block is in a buffer, in bytes.
struct Block {
    std::uint64_t offset, size;
};

/// What an algorithm is given. The spans and buffers stay the caller's.
struct Arguments {
    transport::Bytes data;               ///< Broadcast: the message. Exchange, gather, allgather, alltoall, and scatter (only read): all
                                         ///< blocks, rank by rank.
                                         ///< Reduce (at the root), allreduce, scans: where the result goes; may be the contribution.
                                         ///< Reduce_scatter: where this rank's block of it goes; may be its place in the contribution.
    transport::ConstBytes contribution;  ///< Exchange, gather, allgather: this rank's block. Alltoall: its blocks for all, rank by rank.
                                         ///< What combines: its elements.
    transport::Bytes result;             ///< Scatter: where this rank's block goes.
    /// Gather, scatter: where the block of each rank is in `data`, at the root where blocks have own sizes; allgather, alltoall: the same
    /// on all ranks. Null: they have one size, and stand one behind the other.
    const Block* blocks = nullptr;
    const Block* contribution_blocks = nullptr;  ///< Alltoall: the same of the contribution.
    std::uint64_t segment_bytes = 0;             ///< Piece of a pipelined transfer; 0: whole.
    const Nanoseconds* oracle = nullptr;         ///< The arrival time of each rank, known beforehand (simulation only).
    ClockSynchronization* clocks = nullptr;      ///< Synchronisation of clocks: this rank's part.
    Combiner combiner = {};                      ///< Reduce, ...: what makes one element of two.
};

using Algorithm = Task (*)(Operation&);

/// Where a suspended coroutine waits. Asked again whenever something of its operation has ended or arrived.
class WaitPoint {
  public:
    virtual bool ready() = 0;

  protected:
    ~WaitPoint() = default;
};

/// A transfer an algorithm has started. Awaiting it waits for its end; dropping it lets it run on.
class Pending {
  public:
    Pending() = default;
    explicit Pending(Transfer& transfer) : transfer_(&transfer) {}
    Pending(Pending&& other) noexcept : transfer_(std::exchange(other.transfer_, nullptr)) {}
    Pending& operator=(Pending&& other) noexcept {
        std::swap(transfer_, other.transfer_);
        return *this;
    }
    ~Pending() { drop(); }
    void drop();

    bool done() const noexcept { return !transfer_ || transfer_->stage == Transfer::Stage::done; }
    /// A message sent ahead found no landing buffer: it waits here for its receiver, or for room.
    bool deferred() const noexcept { return transfer_ && transfer_->deferred; }

    class Awaiter;
    Awaiter operator co_await() const noexcept;

  private:
    Transfer* transfer_ = nullptr;
};

/// Which ranks have arrived at this operation, and when others expect to, as far as this rank's board shows. Filled while
/// the operation runs.
class Arrivals {
  public:
    /// Ranks that have arrived and were not taken yet, in the order in which they were seen.
    std::vector<int> take() { return std::exchange(fresh_, {}); }
    bool any() const noexcept { return !fresh_.empty(); }

    struct Prediction {
        int rank;
        Nanoseconds when;  ///< The communicator's common time.
    };
    /// Predictions that are new or have changed since they were taken; the last one of a rank counts. Where a communicator
    /// has no slots on the board there are none.
    std::vector<Prediction> take_predictions() { return std::exchange(predictions_, {}); }
    bool any_prediction() const noexcept { return !predictions_.empty(); }

  private:
    friend class Operation;
    friend class Engine;
    // Both return whether that was new.
    bool see(int rank) {
        if (seen_[static_cast<std::size_t>(rank)]) return false;
        seen_[static_cast<std::size_t>(rank)] = true;
        fresh_.push_back(rank);
        return true;
    }
    bool predicts(int rank, Nanoseconds when) {
        if (predicted_.empty()) predicted_.assign(seen_.size(), kUnknownTime);
        if (std::exchange(predicted_[static_cast<std::size_t>(rank)], when) == when) return false;
        predictions_.push_back({rank, when});
        return true;
    }
    std::vector<int> fresh_;
    std::vector<Prediction> predictions_;
    std::vector<Nanoseconds> predicted_;  ///< The latest of each rank; empty: of none.
    std::vector<bool> seen_;
    std::vector<int> unseen_;       ///< Where the board must be looked at: who is still to be looked for.
    std::vector<Pending> notices_;  ///< Where there is no board: the receives that stand for it.
};

class Deputy;
class NodeUse;

class alignas(64) Operation final : public Waitable {
  public:
    /// The state must outlive the operation. `arguments` as above.
    Operation(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, Algorithm algorithm, const Arguments& arguments);

    /// The step of the message that stands for a notice where a communicator has no slots on the board.
    static constexpr std::uint64_t kArrivedStep = ~std::uint64_t{0};

    // --- the vocabulary -------------------------------------------------------------------------------------------
    int rank() const noexcept { return communicator_.rank; }
    int size() const noexcept { return communicator_.group->size; }
    int root() const noexcept { return call_.root; }
    /// Between two groups: how many ranks the first one has, which are the first ranks of all. Else 0.
    int first_group() const noexcept { return communicator_.group->first_group; }
    const Arguments& arguments() const noexcept { return arguments_; }

    Pending send(int to, transport::ConstBytes bytes, std::uint64_t step);
    /// As send(), to a rank that may not have arrived: the receiver answers if the message cannot land there.
    Pending send_ahead(int to, transport::ConstBytes bytes, std::uint64_t step);
    Pending receive(int from, transport::Bytes bytes, std::uint64_t step);
    /// Whether the message of this step has come, or has begun to come.
    bool is_here(int from, std::uint64_t step) const;

    /// Whether this rank's caller has arrived. A planned operation is begun before: until its caller arrives it must not
    /// touch the caller's data, and may write where its results go.
    bool has_arrived() const noexcept { return !awaits_caller_; }
    /// When the caller is expected (as now() counts), or kUnknownTime.
    Nanoseconds predicted_arrival() const noexcept { return predicted_arrival_; }

    /// Writes on the board of rank `at` that this rank has arrived, or (if it knows) when it expects to. A later notice
    /// replaces an earlier one. Predictions are lost where a communicator has no slots on the board.
    void announce_arrival(int at);
    void announce_prediction(int at);
    /// The arrivals at this rank's board; watched from the first call on.
    Arrivals& arrivals();

    /// Suspends until `predicate()` is true. It is asked whenever a transfer of this operation ended or a rank arrived.
    template <class Predicate>
    auto until(Predicate predicate) {
        return Until<Predicate>(*this, std::move(predicate));
    }
    /// Waits for this rank's caller.
    auto arrival() {
        return until([this] { return has_arrived(); });
    }
    /// Waits for all transfers of a range of Pending.
    template <class Range>
    auto all_of(Range& transfers) {
        return until([position = transfers.begin(), end = transfers.end()]() mutable {
            while (position != end && position->done()) ++position;
            return position == end;
        });
    }
    /// Whether there are signals: where the communicator has slots on the board, the same on all its ranks.
    bool can_signal() const noexcept { return communicator_.group->has_slots; }
    /// To be awaited before the first signal: until the operation of this communicator that used signals before this one
    /// has ended here. A place on the board is written again two turns later, and by then its reader has gone on: for whoever
    /// ends an operation that uses signals must have heard, directly or not, that all ranks have entered it.
    auto turn() {
        if (!turn_) turn_ = ++communicator_.turns_taken;
        return until([this] { return communicator_.turns_ended + 1 == turn_; });
    }
    /// Signals to `count` ranks from `first` on, past the last one from 0 on. Once in each operation. What this rank's caller
    /// wrote before the call, to whatever memory, can be read by theirs after their wait.
    void signal(int first, int count);
    /// Waits for the signals of these ranks.
    auto signals(int first, int count) {
        listen_to(first, count);
        return until([this] { return listens_ == 0; });
    }

    /// Where blocks have sizes of their own: the root counts `at_root` bytes for a rank whose block has `elsewhere` (this rank, where it is
    /// not the root), or for the ranks from `first` to `last` together, several of which have other sizes. All ranks are told; failure() is
    /// to be awaited then.
    void tell_sizes_differ(int rank, std::uint64_t at_root, std::uint64_t elsewhere);
    void tell_sizes_differ(int first, int last, std::uint64_t at_root, std::uint64_t elsewhere);
    /// Between two groups: the sizes of blocks that ranks give for those of the other group are not those that these have. `rank` is of
    /// the other group. All ranks are told.
    void tell_groups_differ(int rank);
    /// Waits until the operation fails, which it is known to do.
    auto failure() {
        return until([] { return false; });
    }

    /// Copies inside this rank; takes the model's time in a simulation.
    Pending copy(transport::Bytes into, transport::ConstBytes from);
    /// Combines operands, the left one of lower ranks. All have one size; `into` may be either. Takes as long as a copy.
    Pending combine(transport::Bytes into, transport::ConstBytes left, transport::ConstBytes right);
    Nanoseconds now() const;
    /// The same moment on the clock of this rank's host.
    Nanoseconds host_time() const;
    /// Pieces of a pipelined transfer to keep under way from and to each neighbour.
    unsigned pieces_under_way() const;

    // --- for a plan: before begin(), the caller is still to arrive; then, as the owner of the lane ------------------
    void await_caller() noexcept { awaits_caller_ = true; }
    /// Before begin(): the caller does not leave what it brings to the background.
    void stay() noexcept { stays_ = true; }
    void predict_arrival(Nanoseconds when);
    void arrive();

    // --- for the engine and for who started it --------------------------------------------------------------------
    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;
    /// Who is told of its end. As the owner of the lane, before it is done.
    void watch(Watcher& watcher) {
        on_done = [](Operation&, void* told) { static_cast<Watcher*>(told)->ended(); };
        on_done_context = &watcher;
    }

    const Call& call() const noexcept { return call_; }
    std::uint64_t sequence() const noexcept { return key_.sequence; }
    CommunicatorState& communicator() noexcept { return communicator_; }
    Engine& engine() noexcept { return *engine_; }
    /// "broadcast(root=0, 8 bytes) #12 on world"
    std::string describe() const;
    /// When the first data of another rank began to come in, or 0 (only where Engine::Options::trace is set).
    Nanoseconds first_data() const noexcept { return first_data_; }

    /// What every message looks at stands in the first so many bytes.
    static constexpr std::size_t kHotBytes = 2 * 64;
    /// Fetches what a resumed coroutine looks at first into the cache (simulation).
    void prefetch_frame() const noexcept { transport::prefetch(handle_.address(), kFrameBytes); }

    template <class Predicate>
    class Until final : public WaitPoint {
      public:
        Until(Operation& operation, Predicate predicate) : operation_(operation), predicate_(std::move(predicate)) {}
        bool ready() override { return predicate_(); }
        bool await_ready() { return !operation_.failed() && predicate_(); }
        void await_suspend(std::coroutine_handle<> handle) { operation_.wait_at(*this, handle); }
        void await_resume() const noexcept {}

      private:
        Operation& operation_;
        Predicate predicate_;
    };

  private:
    friend class Deputy;
    friend class Engine;
    friend class Transfer;
    friend class Pending;
    friend class NodeUse;
    friend FrameArena& arena_of(Operation& operation) noexcept;

    /// For the engine's table of operations under way.
    struct ByCall {
        using Key = CallKey;
        static const CallKey& key(const Operation& operation) noexcept { return operation.key_; }
        static Operation*& next(Operation& operation) noexcept { return operation.next_active_; }
    };

    static constexpr std::size_t kFrameBytes = 5 * 64;
    void put_notice(int at, Nanoseconds arrival);
    void listen_to(int first, int count);
    bool has_signalled(int from) const;
    /// A signal that got lost, of which its writer has told by a message: put where it should stand. (If it is overwritten there
    /// once more, its writer is asked once more: there are only so many late words for former communicators.)
    void hear(int from);
    bool heard_all();
    int wrapped(int rank) const noexcept { return rank < size() ? rank : rank - size(); }
    void wait_at(WaitPoint& point, std::coroutine_handle<> handle) noexcept {
        wait_point_ = &point;
        handle_ = handle;
    }

    // Two cache lines with what every message of it needs (see Engine).
    bool ready_ = false;  ///< In the engine's list of operations to look at.
    bool awaits_caller_ = false;
    CommunicatorState& communicator_;
    Engine* engine_ = nullptr;
    WaitPoint* wait_point_ = nullptr;  ///< Null: it has not started yet, or it has ended.
    std::coroutine_handle<> handle_;
    Transfer* transfers_ = nullptr;  ///< Unfinished ones.
    Operation* next_ready_ = nullptr;
    CallKey key_;
    Call call_;
    std::unique_ptr<Arrivals> arrivals_;

    Nanoseconds first_data_ = 0;
    Algorithm algorithm_;
    Arguments arguments_;
    Task task_;
    Operation* next_active_ = nullptr;  ///< In the engine's table of operations under way.
    Nanoseconds predicted_arrival_ = kUnknownTime;
    Nanoseconds begun_at_ = 0;
    Nanoseconds probed_at_ = 0;
    int probe_next_ = 0;      ///< The rank (of the world) from which on others are still to be asked in this round; 0: a new one.
    std::uint64_t turn_ = 0;  ///< 0: it uses no signals.
    int listens_from_ = 0;    ///< The rank whose signal is looked for.
    int listens_ = 0;         ///< And how many from it on are.
    NodeUse* node_uses_ = nullptr;
    bool uses_node_ = false;    ///< It is among those of the engine that look at node memory.
    bool alone_ = false;        ///< A deputy's.
    bool stays_ = false;        ///< Its caller waits until it is over.
    Deputy* deputy_ = nullptr;  ///< Of a caller's, whose part this does; else null.

  public:
    /// Told when it is done, instead of a waiting caller. Called by the owner, last of all.
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
    /// The bytes that came.
    std::uint64_t await_resume() const noexcept { return transfer_ ? transfer_->received : 0; }

  private:
    Transfer* transfer_;
};

inline Pending::Awaiter Pending::operator co_await() const noexcept { return Awaiter(transfer_); }

/// `bytes` from `offset`, `size` long; a phantom's slice is a phantom.
inline transport::Bytes slice(transport::Bytes bytes, std::uint64_t offset, std::uint64_t size) {
    return {bytes.data ? static_cast<std::byte*>(bytes.data) + offset : nullptr, size};
}
inline transport::ConstBytes slice(transport::ConstBytes bytes, std::uint64_t offset, std::uint64_t size) {
    return {bytes.data ? static_cast<const std::byte*>(bytes.data) + offset : nullptr, size};
}

}  // namespace rollcall::runtime
