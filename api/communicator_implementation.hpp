/// \file
/// What stands behind the handles of the public interface.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <rollcall/communicator.hpp>
#include <rollcall/request.hpp>

#include "collectives/catalogue.hpp"
#include "collectives/exchange.hpp"
#include "collectives/selection.hpp"
#include "runtime/group/group.hpp"
#include "runtime/lane/operation.hpp"
#include "runtime/lane/transfer.hpp"
#include "runtime/process.hpp"

namespace rollcall {

/// Algorithms that a setting names, looked up once for a job. Null: `auto`.
class ChosenAlgorithms {
  public:
    void set(runtime::OperationKind operation, const collectives::AlgorithmEntry& entry) { entries_[index(operation)] = &entry; }
    const collectives::AlgorithmEntry* of(runtime::OperationKind operation) const { return entries_[index(operation)]; }

  private:
    static std::size_t index(runtime::OperationKind operation) { return static_cast<std::size_t>(operation); }
    std::array<const collectives::AlgorithmEntry*, static_cast<std::size_t>(runtime::OperationKind::plan) + 1> entries_{};
};

struct Communicator::Implementation : std::enable_shared_from_this<Communicator::Implementation> {
    Implementation(std::shared_ptr<runtime::Process> its_process, std::shared_ptr<const runtime::Group> group, int rank,
                   std::uint64_t first_slot, const ChosenAlgorithms& algorithms, std::shared_ptr<runtime::CommonClock> clock);
    ~Implementation();

    /// How an operation of this size is to be done.
    struct Method {
        const collectives::AlgorithmEntry* entry;
        std::string_view why;
        std::uint64_t segment_bytes;
    };
    Method method(runtime::OperationKind operation, std::uint64_t bytes, const CollectiveOptions& options) const;
    std::string explain(runtime::OperationKind operation, std::uint64_t bytes, const CollectiveOptions& options) const;
    collectives::Situation situation(std::uint64_t bytes) const;

    /// A collective call that is ready to begin: its arguments are checked, its algorithm is chosen.
    struct Prepared {
        runtime::Call call;
        runtime::Algorithm algorithm;
        runtime::Arguments arguments;
    };
    /// Checks all but the buffers. `caller` is what errors call it.
    Prepared prepare(runtime::OperationKind operation, std::uint64_t bytes, int root, const CollectiveOptions& options,
                     const char* caller) const;
    Prepared prepare_broadcast(void* data, std::uint64_t bytes, int root, const CollectiveOptions& options, const char* caller) const;
    Prepared prepare_scatter(const void* data, void* block, std::uint64_t bytes, int root, const CollectiveOptions& options,
                             const char* caller) const;
    Prepared prepare_gather(const void* block, void* data, std::uint64_t bytes, int root, const CollectiveOptions& options,
                            const char* caller) const;
    Prepared prepare_barrier() const;
    /// Runs it to the end; fills the record if there is one. Throws what failed.
    void call(const Prepared& prepared, const std::optional<Timeout>& timeout, CallRecord* record) const;
    Request start(const Prepared& prepared) const;

    void check_alive() const;
    void check_rank(int rank, const char* operation, const char* role) const;
    static void check_buffer(const void* data, std::uint64_t bytes, const char* operation);
    std::uint64_t next_sequence() const { return state.next_sequence.fetch_add(1, std::memory_order_relaxed); }
    Timeout deadline(const std::optional<Timeout>& timeout) const;

    /// Runs to the end. Throws what failed.
    void run(runtime::Operation& operation, Timeout timeout) const;
    void run(runtime::Transfer& transfer, Timeout timeout) const;
    /// All-gather of a small record.
    template <class Record>
    std::vector<Record> exchange(const Record& mine, runtime::OperationKind kind) const;

    /// Makes communicators by colour: what split() does, and duplicate(), which is of that kind.
    std::shared_ptr<Implementation> divide(int color, int key, runtime::OperationKind kind) const;

    std::string describe(const runtime::Transfer& transfer) const;

    /// The host of each rank, as a number: ranks with the same one share their clock.
    std::vector<int> hosts() const;
    /// Synchronises the clocks of the ranks with that of rank 0, watching each for `window`, and sets `common`. Collective. Where
    /// there is one host, does nothing.
    void synchronize(runtime::CommonClock& common, Nanoseconds window) const;
    /// The clocks that are synchronised already: the job's, and that of this communicator or one it comes from.
    struct KnownClocks {
        bool job = false, communicator = false;
    };
    KnownClocks known_clocks() const;
    /// Takes one of those that all ranks have (`known_by_all`: the same on all of them), the job's first, or else makes one.
    /// Collective if there is none.
    void agree_on_clock(KnownClocks known_by_all, Nanoseconds window) const;
    void use_clock(const std::shared_ptr<runtime::CommonClock>& common) const;
    /// Converts the times of a call from this host's to common ones.
    void make_common(CallRecord& record) const;

    std::shared_ptr<runtime::Process> process;
    std::uint64_t first_slot;
    ChosenAlgorithms algorithms;
    mutable std::shared_ptr<runtime::CommonClock> clock;  ///< Of the thread that makes collective calls.
    mutable runtime::CommunicatorState state;
    const bool shares_boards;
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

/// Either a transfer or a collective operation.
struct Request::Implementation {
    explicit Implementation(std::shared_ptr<const Communicator::Implementation> its_communicator)
        : communicator(std::move(its_communicator)) {}

    runtime::Waitable& waitable() { return transfer ? static_cast<runtime::Waitable&>(*transfer) : *operation; }
    runtime::Lane& lane() { return communicator->process->lane(); }
    std::string describe() const { return transfer ? communicator->describe(*transfer) : operation->describe(); }
    Error timed_out(Timeout timeout) const;

    std::shared_ptr<const Communicator::Implementation> communicator;
    std::optional<runtime::Transfer> transfer;
    std::optional<runtime::Operation> operation;
};

/// "rank 2: ... did not end within 1 s"
Error timeout_error(const runtime::Process& process, const std::string& what, Timeout timeout);

}  // namespace rollcall
