#include <rollcall/intercommunicator.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "api/blocks.hpp"
#include "api/communicator_implementation.hpp"
#include "collectives/combining/combining.hpp"
#include "foundation/hash.hpp"
#include "foundation/reductions.hpp"

namespace rollcall {

using detail::IntergroupCall;
using detail::IntergroupOperation;
using runtime::OperationKind;

namespace {

struct KindOfCall {
    const char* name;
    OperationKind kind;
};
/// In the order of the values of IntergroupOperation.
constexpr std::array kKinds = {
    KindOfCall{"broadcast", OperationKind::intergroup_broadcast}, KindOfCall{"scatter", OperationKind::intergroup_scatter},
    KindOfCall{"gather", OperationKind::intergroup_gather},       KindOfCall{"reduce", OperationKind::intergroup_reduce},
    KindOfCall{"allreduce", OperationKind::intergroup_allreduce}, KindOfCall{"allgather", OperationKind::intergroup_allgather},
    KindOfCall{"alltoall", OperationKind::intergroup_alltoall},
};
const KindOfCall& kind_of(const IntergroupCall& call) { return kKinds[static_cast<std::size_t>(call.operation)]; }

}  // namespace

struct ROLLCALL_HIDDEN Intercommunicator::Implementation {
    struct Side {
        Side() = default;
        Side(const Communicator& both, int first_rank, int ranks);

        int first = 0, size = 0;       ///< Ranks of `both`.
        std::vector<bool> is_on = {};  ///< For each node, whether the group has ranks there. Empty: each rank has a node of its own.
        int nodes = 0;                 ///< The number of these nodes.
    };
    struct Prepared {
        Communicator::Implementation::Prepared call;
        Layout layout;  ///< The call's arguments point into it.
    };

    const Communicator::Implementation& all() const { return both.checked(); }
    [[noreturn]] void refuse(const IntergroupCall& call, const std::string& what) const {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", caller(call), what));
    }
    int root_of(const IntergroupCall& call) const {
        if (!call.root) return -1;
        const Side& side = call.root->is_mine() ? own : other;
        if (call.root->rank() < 0 || call.root->rank() >= side.size)
            refuse(call, fmt::format("the root is {}{{{}}}, but that group has ranks 0 to {}", call.root->is_mine() ? "Mine" : "Theirs",
                                     call.root->rank(), side.size - 1));
        return side.first + call.root->rank();
    }
    /// The size of a block if `bytes` bytes are cut into blocks for the ranks of the other group.
    std::uint64_t block_of(const IntergroupCall& call, std::uint64_t bytes) const {
        const auto ranks = static_cast<std::uint64_t>(other.size);
        if (bytes % (ranks * call.element_bytes) != 0)
            refuse(call, fmt::format("{} {} cannot be cut into equal blocks for the {} ranks of the other group",
                                     bytes / call.element_bytes, call.element_bytes == 1 ? "bytes" : "elements", ranks));
        return bytes / ranks;
    }
    void check_buffers(const IntergroupCall& call, const runtime::Arguments& given) const {
        const auto check = [&](const void* data, std::uint64_t bytes) {
            Communicator::Implementation::check_buffer(data, bytes, kind_of(call).name);
        };
        check(given.data.data, given.data.size);
        check(given.contribution.data, given.contribution.size);
        check(given.result.data, given.result.size);
        const bool may_coincide = call.root || call.operation == IntergroupOperation::allreduce;
        if (!may_coincide && given.contribution.size > 0 && given.data.size > 0 && given.contribution.data == given.data.data)
            refuse(call, "the data received would overwrite the data to send: give the result a buffer of its own");
    }
    void check_reduction(const IntergroupCall& call) const {
        std::string wrong = what_is_wrong(call.reduction);
        if (wrong.empty() && call.own_bytes != call.other_bytes)
            wrong = fmt::format("the result has room for {} bytes, but each rank brings {}: give it room for exactly as many",
                                call.other_bytes, call.own_bytes);
        if (!wrong.empty()) refuse(call, wrong);
    }
    std::string caller(const IntergroupCall& call) const { return fmt::format("{} on {}", kind_of(call).name, both.name()); }
    void give_rooted(const IntergroupCall& call, bool is_root, Prepared& prepared) const;
    void give_exchanged(const IntergroupCall& call, Prepared& prepared) const;
    /// `is_planned`: as in Collective::prepare().
    Prepared prepare(const IntergroupCall& call, const CollectiveOptions& options, bool is_planned = false) const;
    /// What all ranks that have a part know of the call.
    collectives::SelectionInput selection_input(const Communicator::Implementation& on, const IntergroupCall& call,
                                                const Communicator::Implementation::Prepared& made, bool is_planned) const;
    /// Chooses the algorithm that the call runs on the communicator `on`, and puts it into the call.
    void select(const Communicator::Implementation& on, const IntergroupCall& call, Communicator::Implementation::Prepared& made,
                const CollectiveOptions& options, bool is_planned, std::string* why = nullptr) const;
    /// How many nodes there are on which a group has ranks, without that of `root`.
    int nodes_of(const Side& side, int root) const;

    Communicator both, local;
    Side own, other;
};

// These operations have one buffer. Its role depends on the operation and on whether the caller is the root.
void Intercommunicator::Implementation::give_rooted(const IntergroupCall& call, bool is_root, Prepared& prepared) const {
    auto& [made, algorithm, arguments, until_delivered, may_end_at_once] = prepared.call;
    const transport::ConstBytes read{call.own, call.own_bytes};
    const transport::Bytes written{call.other, call.other_bytes};
    const bool is_written = is_root ? call.operation == IntergroupOperation::gather || call.operation == IntergroupOperation::reduce
                                    : call.operation == IntergroupOperation::broadcast || call.operation == IntergroupOperation::scatter;
    if (is_written && !call.other && call.own) refuse(call, "the call writes to this rank's data, which is const: give data that is not");
    const bool in_blocks = call.operation == IntergroupOperation::scatter || call.operation == IntergroupOperation::gather;
    made.bytes = is_root && in_blocks && !call.blocks ? block_of(call, call.own_bytes) : call.own_bytes;
    if (is_root || call.operation == IntergroupOperation::broadcast)
        arguments.data = is_written ? written : transport::Bytes{const_cast<void*>(read.data), read.size};
    else if (is_written)
        arguments.result = written;
    else
        arguments.contribution = read;
    if (!is_root || !call.blocks) return;
    LaidOut laid = lay_out(*call.blocks, other.size, 0, std::nullopt, is_written, caller(call));
    made.bytes = runtime::kManySizes;
    arguments.data.size = laid.end;
    prepared.layout = std::move(laid.blocks);
    arguments.blocks = prepared.layout.get();
}

void Intercommunicator::Implementation::give_exchanged(const IntergroupCall& call, Prepared& prepared) const {
    auto& [made, algorithm, arguments, until_delivered, may_end_at_once] = prepared.call;
    arguments.contribution = {call.own, call.own_bytes};
    arguments.data = {call.other, call.other_bytes};
    if (call.operation == IntergroupOperation::allreduce) {
        made.bytes = call.own_bytes;
        return;
    }
    if (call.to_send) {
        prepared.layout = lay_out_both(*call.to_send, *call.blocks, other.size, std::nullopt, caller(call), arguments);
        made.bytes = runtime::kManySizes;
    } else if (call.blocks) {
        LaidOut laid = lay_out(*call.blocks, other.size, 0, std::nullopt, true, caller(call));
        prepared.layout = std::move(laid.blocks);
        arguments.blocks = prepared.layout.get();
        arguments.data.size = laid.end;
        made.bytes = call.own_bytes;
    } else {
        const std::uint64_t sent = call.operation == IntergroupOperation::alltoall ? block_of(call, call.own_bytes) : call.own_bytes;
        const std::uint64_t received = block_of(call, call.other_bytes);
        const bool is_first = own.first == 0;
        made.bytes = is_first ? sent : received;
        made.segment_bytes = std::min(is_first ? received : sent, runtime::kLongestSegment);
    }
}

Intercommunicator::Implementation::Side::Side(const Communicator& both, int first_rank, int ranks)
    : first(first_rank), size(ranks), nodes(ranks) {
    const runtime::Nodes* const all = both.checked().state.group->nodes.get();
    if (!all) return;
    is_on.resize(all->members.size());
    for (int rank = first; rank < first + size; ++rank) is_on[static_cast<std::size_t>(all->of[static_cast<std::size_t>(rank)])] = true;
    nodes = static_cast<int>(std::count(is_on.begin(), is_on.end(), true));
}

int Intercommunicator::Implementation::nodes_of(const Side& side, int root) const {
    if (side.is_on.empty()) return side.nodes;
    const int at_root = all().state.group->nodes->of[static_cast<std::size_t>(root)];
    return std::max(side.nodes - side.is_on[static_cast<std::size_t>(at_root)], 1);
}

collectives::SelectionInput Intercommunicator::Implementation::selection_input(const Communicator::Implementation& on,
                                                                               const IntergroupCall& call,
                                                                               const Communicator::Implementation::Prepared& made,
                                                                               bool is_planned) const {
    // A rank that has no part does not know the size, and refuses no algorithm for it.
    const std::uint64_t longest = made.call.has_no_part() ? 0 : std::max(made.call.bytes, std::uint64_t{made.call.segment_bytes});
    auto input = call.blocks ? on.selection_input_of_blocks() : on.selection_input(longest);
    const collectives::OperationRow& row = collectives::operation(made.call.kind);
    if (row.combines) input.has = collectives::conditions_of(made.arguments.combiner, input.has);
    if (is_planned) input.has = input.has.without(collectives::Condition::called);
    if (!call.root) return input;
    const Side& others = call.root->is_mine() ? other : own;
    input.ranks = others.size + 1;
    input.ranks_of_group = others.size;
    input.nodes_of_group = nodes_of(others, made.call.root);
    if (input.nodes > 0) input.nodes = input.nodes_of_group + 1;  // the root's
    return input;
}

void Intercommunicator::Implementation::select(const Communicator::Implementation& on, const IntergroupCall& call,
                                               Communicator::Implementation::Prepared& made, const CollectiveOptions& options,
                                               bool is_planned, std::string* why) const {
    const auto& row = collectives::operation(made.call.kind);
    const auto input = selection_input(on, call, made, is_planned);
    // What rules have chosen for one root does not hold for others, so it is not remembered.
    const collectives::Selection selection = call.root ? collectives::choose(row, input, options.algorithm, on.algorithms.of(row.kind))
                                                       : on.method(row, input, options).selection;
    made.algorithm = selection.entry;
    made.call.algorithm = selection.entry->number;
    if (why) *why = collectives::explain(row, input, selection);
}

Intercommunicator::Implementation::Prepared Intercommunicator::Implementation::prepare(const IntergroupCall& call,
                                                                                       const CollectiveOptions& options,
                                                                                       bool is_planned) const {
    all().check_alive();
    if (options.timeout) checked_timeout(*options.timeout);
    Prepared prepared;
    auto& [made, algorithm, arguments, until_delivered, may_end_at_once] = prepared.call;
    made.kind = kind_of(call).kind;
    made.root = root_of(call);
    made.own_sizes = call.blocks.has_value();
    until_delivered = options.until_delivered;
    if (call.operation == IntergroupOperation::reduce || call.operation == IntergroupOperation::allreduce) {
        check_reduction(call);
        arguments.combiner = collectives::combiner_of(call.reduction);
        made.reduction = foundation::number_of(call.reduction);
    }
    const bool is_root = made.root == both.rank();
    if (!call.root) {
        give_exchanged(call, prepared);
    } else if (is_root || !call.root->is_mine()) {
        give_rooted(call, is_root, prepared);
    } else {
        made.bytes = runtime::kManySizes;  // this rank takes no part, and does not know the size
    }
    check_buffers(call, arguments);
    select(all(), call, prepared.call, options, is_planned);
    return prepared;
}

// --- the handle ------------------------------------------------------------------------------------------------------

Intercommunicator::Intercommunicator() = default;
Intercommunicator::~Intercommunicator() = default;
Intercommunicator::Intercommunicator(const Intercommunicator&) = default;
Intercommunicator::Intercommunicator(Intercommunicator&&) noexcept = default;
Intercommunicator& Intercommunicator::operator=(const Intercommunicator&) = default;
Intercommunicator& Intercommunicator::operator=(Intercommunicator&&) noexcept = default;
Intercommunicator::Intercommunicator(std::shared_ptr<Implementation> implementation) noexcept
    : implementation_(std::move(implementation)) {}

const Intercommunicator::Implementation& Intercommunicator::checked() const {
    if (!implementation_) throw Error(ErrorCode::state, "this intercommunicator is null: this rank is in neither group");
    return *implementation_;
}
const Communicator& Intercommunicator::both() const { return checked().both; }
int Intercommunicator::rank() const { return checked().local.rank(); }
int Intercommunicator::size() const { return checked().own.size; }
int Intercommunicator::remote_size() const { return checked().other.size; }
const std::string& Intercommunicator::name() const { return both().name(); }
const Communicator& Intercommunicator::local() const { return checked().local; }
Communicator Intercommunicator::merge() const { return both().duplicate(); }
int Intercommunicator::remote_world_rank(int rank) const { return both().world_rank(remote(rank, "remote_world_rank")); }

int Intercommunicator::remote(int rank, const char* function) const {
    const auto& [first, size, is_on, nodes] = checked().other;
    if (rank >= 0 && rank < size) return first + rank;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} on {}: rank {} is out of range: the other group has ranks 0 to {}", function, name(), rank, size - 1));
}

void Intercommunicator::send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag, std::optional<Timeout> timeout) const {
    both().send(data, bytes, remote(to, "send"), tag, timeout);
}
Received Intercommunicator::receive(BytePointer data, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const {
    return both().receive(data, bytes, remote(from, "receive"), tag, timeout);
}
Request Intercommunicator::start_send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag, std::optional<Timeout> timeout) const {
    return both().start_send(data, bytes, remote(to, "start_send"), tag, timeout);
}
Request Intercommunicator::start_receive(BytePointer data, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const {
    return both().start_receive(data, bytes, remote(from, "start_receive"), tag, timeout);
}

std::uint64_t Intercommunicator::next_size(int from, Tag tag, std::optional<Timeout> timeout) const {
    return both().next_size(remote(from, "next_size"), tag, timeout);
}
Request Intercommunicator::start_next_size(int from, Tag tag, std::optional<Timeout> timeout) const {
    return both().start_next_size(remote(from, "start_next_size"), tag, timeout);
}
std::optional<std::uint64_t> Intercommunicator::try_next_size(int from, Tag tag) const {
    return both().try_next_size(remote(from, "try_next_size"), tag);
}

void Intercommunicator::barrier(const CollectiveOptions& options) const { both().barrier(options); }
Request Intercommunicator::start_barrier(const CollectiveOptions& options) const { return both().start_barrier(options); }

void Intercommunicator::call(const IntergroupCall& call, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    const auto prepared = here.prepare(call, options);
    here.all().call(prepared.call, options.timeout, options.record);
}

Request Intercommunicator::start(const IntergroupCall& call, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    auto prepared = here.prepare(call, options);
    Request request = here.all().start(prepared.call, options.timeout);
    Communicator::Implementation::keep(request, std::move(prepared.layout));
    return request;
}

Plan Intercommunicator::plan_barrier(const PlanOptions& options) const { return both().plan_barrier(options); }

Plan Intercommunicator::plan(const IntergroupCall& call, const PlanOptions& options) const {
    const Implementation& here = checked();
    const CollectiveOptions how{.algorithm = options.algorithm, .segment_bytes = options.segment_bytes, .timeout = {}};
    auto prepared = here.prepare(call, how, true);
    const runtime::Call& made = prepared.call.call;
    const bool has_part = !call.root || !call.root->is_mine() || made.root == both().rank();
    const auto choose = [&](const Communicator::Implementation& on, Communicator::Implementation::Prepared& planned) {
        std::string why;
        here.select(on, call, planned, how, true, &why);
        if (has_part) return why;
        return fmt::format("{}: this rank has no part, because the root is another rank of its group", runtime::name(made.kind));
    };
    Plan plan = here.all().plan(prepared.call, options, choose);
    Communicator::Implementation::keep(plan, std::move(prepared.layout));
    return plan;
}

Intercommunicator Communicator::create_intercommunicator(std::span<const int> first, std::span<const int> second) const {
    const Implementation& here = checked();
    if (first.empty() || second.empty())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("create_intercommunicator on {}: a group has no ranks: give each group at least one", name()));
    std::vector<int> ranks(first.begin(), first.end());
    ranks.insert(ranks.end(), second.begin(), second.end());
    const int in_first = static_cast<int>(first.size());
    const std::uint64_t hash = hash_of(std::as_bytes(second), hash_of(std::as_bytes(first)) + first.size());
    auto both = here.create(ranks, hash, "create_intercommunicator", in_first);
    if (!both) return {};
    const Communicator made(std::move(both));
    const bool is_first = made.rank() < in_first;
    return Intercommunicator::of(made, made.split(is_first ? 0 : 1, made.rank()), in_first, is_first);
}

Intercommunicator Intercommunicator::of(Communicator both, Communicator local, int in_first, bool is_first) {
    auto made = std::make_shared<Implementation>();
    made->own = {both, 0, in_first};
    made->other = {both, in_first, both.size() - in_first};
    if (!is_first) std::swap(made->own, made->other);
    made->both = std::move(both);
    made->local = std::move(local);
    return Intercommunicator(std::move(made));
}

}  // namespace rollcall
