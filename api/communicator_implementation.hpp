/// \file
/// What stands behind the handles of the public interface.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <rollcall/communicator.hpp>
#include <rollcall/request.hpp>

#include "collectives/catalogue.hpp"
#include "collectives/selection.hpp"
#include "runtime/group/group.hpp"
#include "runtime/lane/operation.hpp"
#include "runtime/lane/transfer.hpp"
#include "runtime/process.hpp"

namespace rollcall {

/// Algorithms that a setting names, looked up once for a job. Null: `auto`.
struct ChosenAlgorithms {
    const collectives::AlgorithmEntry* broadcast = nullptr;
    const collectives::AlgorithmEntry* barrier = nullptr;
};

struct Communicator::Implementation : std::enable_shared_from_this<Communicator::Implementation> {
    Implementation(std::shared_ptr<runtime::Process> its_process, std::shared_ptr<const runtime::Group> group, int rank,
                   std::uint64_t first_slot, const ChosenAlgorithms& algorithms);
    ~Implementation();

    /// How a broadcast of this size is to be done.
    struct Method {
        const collectives::AlgorithmEntry* entry;
        std::string_view why;
        std::uint64_t segment_bytes;
    };
    Method broadcast_method(std::uint64_t bytes, const BroadcastOptions& options) const;
    Method barrier_method() const;
    collectives::Situation situation(std::uint64_t bytes) const;

    /// A collective call that is ready to begin: its arguments are checked, its algorithm is chosen.
    struct Prepared {
        runtime::Call call;
        runtime::Algorithm algorithm;
        runtime::Arguments arguments;
    };
    /// `operation` is what errors call it.
    Prepared prepare_broadcast(void* data, std::uint64_t bytes, int root, const BroadcastOptions& options, const char* operation) const;
    Prepared prepare_barrier() const;
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
    Communicator divide(int color, int key, runtime::OperationKind kind) const;

    std::string describe(const runtime::Transfer& transfer) const;

    std::shared_ptr<runtime::Process> process;
    std::uint64_t first_slot;
    ChosenAlgorithms algorithms;
    mutable runtime::CommunicatorState state;
};

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
