/// \file
/// The implementation behind the handles of the public interface.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rollcall/communicator.hpp>
#include <rollcall/request.hpp>

#include "api/blocks.hpp"
#include "collectives/blocks/exchange.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/selection.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/group/group.hpp"
#include "runtime/messages/peek.hpp"
#include "runtime/messages/transfer.hpp"
#include "runtime/process.hpp"

namespace rollcall {

/// The algorithms that settings name, looked up once for a job. Null: `auto`.
class ChosenAlgorithms {
  public:
    void set(runtime::OperationKind operation, const collectives::AlgorithmEntry& entry) { entries_[index_of(operation)] = &entry; }
    const collectives::AlgorithmEntry* of(runtime::OperationKind operation) const { return entries_[index_of(operation)]; }

  private:
    std::array<const collectives::AlgorithmEntry*, kOperationKinds> entries_{};
};

/// Returns `timeout`. Throws Error{invalid_argument} if it is below 0.
Timeout checked_timeout(Timeout timeout);

struct ROLLCALL_HIDDEN Communicator::Implementation : std::enable_shared_from_this<Communicator::Implementation> {
    Implementation(std::shared_ptr<runtime::Process> its_process, std::shared_ptr<const runtime::Group> group, int rank,
                   runtime::Slots slots, const ChosenAlgorithms& algorithms, std::shared_ptr<runtime::CommonClock> clock);
    ~Implementation();

    /// How a collective operation of this size is carried out.
    struct Method {
        collectives::Selection selection;
        std::uint64_t segment_bytes;
    };
    Method method(const collectives::OperationRow& row, const collectives::SelectionInput& input, const CollectiveOptions& options) const;
    /// What all ranks know of a call: one with this size, and one with blocks of different sizes.
    collectives::SelectionInput selection_input(std::uint64_t bytes) const {
        return {.bytes = bytes,
                .ranks = state.group->size,
                .has = conditions,
                .nodes = nodes,
                .ranks_of_group = largest_group.ranks,
                .nodes_of_group = largest_group.nodes,
                .costs = state.group->costs};
    }
    /// `counted`: the blocks of all ranks, if all ranks know them. Null: nobody knows all sizes.
    collectives::SelectionInput selection_input_of_blocks(const runtime::Block* counted = nullptr) const;

    /// A collective call that is ready to begin: its arguments are checked, and its algorithm is chosen.
    struct Prepared {
        runtime::Call call;
        const collectives::AlgorithmEntry* algorithm;
        runtime::Arguments arguments;
        bool until_delivered = false;  ///< As in CollectiveOptions.
        bool may_end_at_once = false;  ///< This rank does no more than a ShortMove.
    };
    /// The last call of an operation for which no algorithm and no segment size was given. Programs mostly repeat their calls, and to
    /// prepare one takes longer than a short operation: the next call with the same size and reduction takes all but the buffers and the
    /// root from here.
    struct LastCall {
        Prepared prepared{};  ///< Its algorithm is null: there was no such call.
        Reduction reduction;
    };
    /// Runs the call to its end, and fills the record if there is one. Throws the error with which it failed.
    void call(const Prepared& prepared, const std::optional<Timeout>& timeout, CallRecord* record) const;
    runtime::ShortMove short_move(const Prepared& prepared) const {
        return prepared.algorithm->short_move(prepared.arguments, prepared.call, state.rank, state.group->size);
    }
    bool ends_at_once(const Prepared& prepared, std::uint64_t sequence) const;
    Request start(const Prepared& prepared, const std::optional<Timeout>& timeout) const;
    /// Chooses the algorithm that a planned call runs on the communicator `on`, puts it into the call, and says why.
    using Choose = std::function<std::string(const Implementation& on, Prepared& prepared)>;
    Plan plan(Prepared prepared, const PlanOptions& options, const Choose& choose) const;
    /// Does that for a call in this input.
    std::string choose(const collectives::OperationRow& row, const collectives::SelectionInput& input, const CollectiveOptions& options,
                       Prepared& prepared) const;
    /// Keeps the layout, which the arguments point into, as long as the request or plan.
    static void keep(Request& request, Layout layout);
    static void keep(Plan& plan, Layout layout);

    /// A send or a receive whose arguments are checked. `peer` is a rank of the world.
    struct Message {
        runtime::Transfer::Direction direction;
        int peer;
        transport::Bytes buffer;
    };
    [[gnu::always_inline]] Message message(runtime::Transfer::Direction direction, const char* caller, void* data, std::uint64_t bytes,
                                           int peer) const {
        check_alive();
        check_rank(peer, caller, direction == runtime::Transfer::Direction::send ? "target" : "source");
        check_buffer(data, bytes, caller);
        return {direction, state.group->world_rank(peer), {data, bytes}};
    }
    Request start(const Message& message, Tag tag, const std::optional<Timeout>& timeout) const;
    runtime::MatchKey key_for(const char* caller, int from, Tag tag) const;
    void look(runtime::Peek& peek, const char* caller, Timeout timeout) const;
    Request start_look(const char* caller, int from, Tag tag, const std::optional<Timeout>& timeout) const;
    std::optional<std::uint64_t> try_next_size(int from, Tag tag) const;
    std::string describe_look(const char* caller, const runtime::MatchKey& key) const;
    /// How many of the ranks 0 .. before - 1 are on the host of this process.
    std::ptrdiff_t local_ranks(int before) const;

    /// While it lives, the other ranks count on further exchanges of this rank. If an exception ends it, they are told.
    class Unfinished;

    void check_alive() const { process->check_usable(); }
    void check_rank(int rank, const char* operation, const char* role) const {
        if (rank < 0 || rank >= state.group->size) refuse_rank(rank, operation, role);
    }
    [[noreturn]] void refuse_rank(int rank, const char* operation, const char* role) const;
    static void check_buffer(const void* data, std::uint64_t bytes, const char* operation) {
        if (bytes > collectives::kMostBytes || (!data && bytes > 0)) refuse_buffer(bytes, operation);
    }
    [[noreturn]] static void refuse_buffer(std::uint64_t bytes, const char* operation);
    std::uint64_t next_sequence() const { return state.next_sequence.fetch_add(1, std::memory_order_relaxed); }
    Timeout deadline(const std::optional<Timeout>& timeout) const {
        if (timeout) return checked_timeout(*timeout);
        return process->settings().timeout ? Timeout(process->settings().timeout) : kForever;
    }

    /// Runs to the end. Throws the error with which it failed.
    void run(runtime::Operation& operation, Timeout timeout) const {
        const bool in_time = process->lane().run(operation, timeout);
        if (!in_time || operation.error()) [[unlikely]]
            end(operation, in_time, timeout);
    }
    void end(runtime::Operation& operation, bool in_time, Timeout timeout) const;
    void run(runtime::Transfer& transfer, Timeout timeout) const;
    /// As run(), for a blocking send: see Lane::send().
    void send(runtime::Transfer& transfer, Timeout timeout) const;
    /// Gathers a small record of every rank on all ranks. Collective.
    template <class Record>
    std::vector<Record> exchange(const Record& mine, runtime::OperationKind kind) const;

    /// Makes one communicator for each color. This is what split() does, and what duplicate() and create() are special cases of.
    /// `first_group`: see Group.
    std::shared_ptr<Implementation> divide(int color, int key, runtime::OperationKind kind, int first_group = 0) const;
    /// Makes a communicator of these ranks, of which this one is one. `begun` has its id, its name, the slots of each rank, and the size of
    /// its first group.
    std::shared_ptr<Implementation> make(runtime::Group begun, std::span<const int> members, runtime::Slots slots) const;
    /// Makes a communicator of the ranks that are left. This is what Communicator::shrink() does.
    std::shared_ptr<Implementation> shrink(const std::optional<Timeout>& timeout) const;
    /// For each rank, its place in this list, or -1 if it is not in the list. Checks that all ranks give the same hash. Collective.
    std::vector<int> agreed_places(std::span<const int> ranks, std::uint64_t hash, const char* caller) const;
    /// Makes a communicator of the listed ranks, in the order of the list. Null on a rank that is not in it. `hash`: see agreed_places().
    /// `first_group`: see Group. Collective.
    std::shared_ptr<Implementation> create(std::span<const int> ranks, std::uint64_t hash, const char* caller, int first_group = 0) const;

    std::string describe(const runtime::Transfer& transfer) const;
    void end(runtime::Transfer& transfer, bool in_time, Timeout timeout) const;

    /// The host of each rank, as a number. Ranks with the same number share their clock.
    std::vector<int> hosts() const;
    /// Synchronises the clocks of the ranks with that of rank 0, and sets `common`. Each clock is watched for `window`. Collective. Does
    /// nothing if there is only one host.
    void synchronize(runtime::CommonClock& common, Nanoseconds window) const;
    /// Which clocks are synchronised already: that of the job, and that of this communicator or of one that it was made from.
    struct KnownClocks {
        bool job = false, communicator = false;
    };
    KnownClocks known_clocks() const;
    /// Uses one of the clocks that all ranks have, the job's first; if there is none, makes one. `known_by_all` must be the same on all
    /// ranks. Collective if a clock is made.
    void agree_on_clock(KnownClocks known_by_all, Nanoseconds window) const;
    void use_clock(const std::shared_ptr<runtime::CommonClock>& common) const;
    /// Converts the times of a call from this host's time to common time.
    void make_common(CallRecord& record) const;

    std::shared_ptr<runtime::Process> process;
    ChosenAlgorithms algorithms;
    mutable std::shared_ptr<runtime::CommonClock> clock;  ///< Belongs to the thread that makes collective calls.
    std::unique_ptr<runtime::CommunicatorState> owned_state;
    runtime::CommunicatorState& state;  ///< *owned_state. Calls write to it, also on a const communicator.
    const bool shares_boards;
    const bool shares_node;                    ///< The ranks share node memory.
    const collectives::Conditions conditions;  ///< The conditions that hold for every call, by the settings and the ranks.
    const int nodes;                           ///< SelectionInput::nodes
    struct Extent {
        int ranks = 0, nodes = 0;
    };
    const Extent largest_group;  ///< SelectionInput::ranks_of_group and nodes_of_group
    mutable collectives::Choices chosen;
    /// For each operation that of a rank that is not the root, and that of the root. They belong to the thread that makes calls.
    mutable std::array<std::array<LastCall, 2>, kOperationKinds> last_calls;

  private:
    Extent extent_of_groups() const;
};

template <class Record>
std::vector<Record> Communicator::Implementation::exchange(const Record& mine, runtime::OperationKind kind) const {
    std::vector<Record> all(static_cast<std::size_t>(state.group->size));
    runtime::Arguments arguments;
    arguments.data = {all.data(), all.size() * sizeof(Record)};
    arguments.contribution = {&mine, sizeof mine};
    runtime::Call call;
    call.kind = kind;
    call.bytes = sizeof mine;
    runtime::Operation operation(state, next_sequence(), call, &collectives::exchange, arguments);
    run(operation, deadline({}));
    return all;
}

/// A transfer, a wait for a message (Peek), or a collective operation.
struct ROLLCALL_HIDDEN Request::Implementation {
    explicit Implementation(std::shared_ptr<const Communicator::Implementation> its_communicator)
        : communicator(std::move(its_communicator)) {}

    runtime::Waitable& waitable();
    void watch(runtime::Watcher& watcher);
    runtime::Lane& lane() { return communicator->process->lane(); }
    std::string describe() const;
    /// How long the message is that a receive got or that a wait for a message has seen. It is done, without an error.
    std::uint64_t received() const noexcept;
    /// Gives it a deadline of its own, counted from now.
    void limit(const std::optional<Timeout>& timeout);
    /// Waits until it is done. Returns false if this time is over before that. If its own deadline is over, it is abandoned, and counts as
    /// done.
    bool wait(Timeout timeout);
    /// Abandons it if its own deadline is over, or if the job has ended.
    void expire();
    /// Abandons it if it is under way although the job has ended. Nothing moves its data any more.
    void end_with_job();
    /// Abandons it with the error of a timeout of this length.
    void give_up(Timeout after);

    std::shared_ptr<const Communicator::Implementation> communicator;
    // It has one of these.
    std::optional<runtime::WatchedTransfer> transfer;
    std::optional<runtime::Peek> peek;
    std::optional<runtime::Operation> operation;
    Layout layout;  ///< If the operation points into one.
    Nanoseconds own_deadline = kNever;
    std::optional<Timeout> own_timeout;  ///< The timeout that gave `own_deadline`, which is kNever for kForever, too.
};

/// Takes the result of an operation that is done, and destroys it. Throws the error with which it failed.
Received collect(std::unique_ptr<Request::Implementation> done);

/// Destroys a process object, but not in a forked child, whose copy belongs to the parent.
void release_process(runtime::Process* process);
/// A consequence for check_nothing_under_way().
inline constexpr const char* kGoesOn = "Nothing was closed: the job goes on";
/// Throws Error{state}, which names the caller and ends with the consequence, if an operation is under way on this process.
void check_nothing_under_way(runtime::Process& process, const char* caller, const char* consequence);

/// The error of an operation that is under way although its job has ended.
Error ended_error(const runtime::Process& process, const std::string& what);

/// An error with a text such as "rank 2: ... did not end within 1 s".
Error timeout_error(const runtime::Process& process, const std::string& what, Timeout timeout);
/// Throws the error with the name of the call in front, unless the error has that name already.
[[noreturn]] void throw_named(const Error& error, const std::string& call);
/// Returns ended_error() if the job has ended, otherwise timeout_error().
Error unfinished_error(const runtime::Process& process, const std::string& what, Timeout timeout);

}  // namespace rollcall
