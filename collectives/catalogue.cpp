#include "collectives/catalogue.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/error.hpp>

#include "collectives/barrier/barrier.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {
namespace {

using runtime::OperationKind;

constexpr std::string_view kPatarasukYuan = "Patarasuk, Yuan: Efficient MPI_Bcast across different process arrival patterns";
constexpr std::string_view kProficz = "Proficz: Process arrival pattern aware algorithms for acceleration of scatter and gather operations";

const std::vector<AlgorithmEntry>& entries() {
    static const std::vector<AlgorithmEntry> all = {
        {.operation = OperationKind::broadcast,
         .name = "linear",
         .aliases = {"flat"},
         .algorithm = &broadcast_linear,
         .summary = "the root sends to each rank in turn",
         .paper = kPatarasukYuan,
         .limits = ""},
        {.operation = OperationKind::broadcast,
         .name = "binomial",
         .aliases = {"bnom"},
         .algorithm = &broadcast_binomial,
         .summary = "binomial tree; cut into segments only on request",
         .paper = kPatarasukYuan,
         .limits = "",
         .segmented = true,
         .whole_by_default = true},
        {.operation = OperationKind::broadcast,
         .name = "pipelined",
         .aliases = {"linear-p", "linear_p", "chain"},
         .algorithm = &broadcast_pipelined,
         .summary = "a chain of ranks that passes segments on",
         .paper = kPatarasukYuan,
         .limits = "",
         .segmented = true},
        {.operation = OperationKind::broadcast,
         .name = "scatter_allgather",
         .aliases = {"sca-all", "scatter-allgather"},
         .algorithm = &broadcast_scatter_allgather,
         .summary = "binomial scatter, then ring all-gather",
         .paper = "Thakur, Rabenseifner, Gropp: ANL/MCS-P1140-0304",
         .limits = "waits for all ranks, by its nature"},
        {.operation = OperationKind::broadcast,
         .name = "arrival_blocking",
         .aliases = {"arrival_b"},
         .algorithm = &broadcast_arrival_blocking,
         .summary = "the root serves, with sub-group broadcasts, those who have arrived",
         .paper = kPatarasukYuan,
         .limits = "",
         .segmented = true},
        {.operation = OperationKind::broadcast,
         .name = "arrival_nonblocking",
         .aliases = {"arrival_nb"},
         .algorithm = &broadcast_arrival_nonblocking,
         .summary = "as arrival_blocking; while nobody has arrived, sends ahead to those who have not",
         .paper = kPatarasukYuan,
         .limits = "sends ahead within the landing budget of the receivers",
         .segmented = true},
        {.operation = OperationKind::broadcast,
         .name = "near_optimal",
         .aliases = {"nearopt"},
         .algorithm = &broadcast_near_optimal,
         .summary = "a chain in the order of arrival, which is known beforehand",
         .paper = kPatarasukYuan,
         .limits = "simulation only: it is told all arrival times",
         .simulated_only = true},
        {.operation = OperationKind::scatter,
         .name = "linear",
         .aliases = {"lin"},
         .algorithm = &scatter_linear,
         .summary = "the root sends to each rank in turn",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::scatter,
         .name = "binomial",
         .aliases = {"bnom"},
         .algorithm = &scatter_binomial,
         .summary = "halving tree: who has the blocks of others passes half of them on",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::scatter,
         .name = "sorted_linear",
         .aliases = {"slin", "sln"},
         .algorithm = &scatter_sorted_linear,
         .summary = "the root sends to each rank in the order of arrival",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::scatter,
         .name = "sorted_binomial",
         .aliases = {"sbn"},
         .algorithm = &scatter_sorted_binomial,
         .summary = "halving tree; who comes early stands near the root",
         .paper = kProficz,
         .limits = "the root tells each rank its place: for planned calls, where that is done before they arrive"},
        {.operation = OperationKind::scatter,
         .name = "background_sorted_linear",
         .aliases = {"bsln"},
         .algorithm = &scatter_background_sorted_linear,
         .summary = "as sorted_linear; planned calls receive before their caller arrives",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::scatter,
         .name = "background_sorted_binomial",
         .aliases = {"bsbn"},
         .algorithm = &scatter_background_sorted_binomial,
         .summary = "as sorted_binomial; planned calls receive and forward before their caller arrives",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::scatter,
         .name = "online_linear",
         .aliases = {},
         .algorithm = &scatter_online_linear,
         .summary = "the root sends to those who have arrived, and ahead while nobody waits",
         .paper = "Our own, after Patarasuk, Yuan and Proficz",
         .limits = "sends ahead within the landing budget of the receivers"},
        {.operation = OperationKind::gather,
         .name = "linear",
         .aliases = {"lin"},
         .algorithm = &gather_linear,
         .summary = "the root receives from each rank in turn",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::gather,
         .name = "linear_synchronized",
         .aliases = {"ls"},
         .algorithm = &gather_linear_synchronized,
         .summary = "the root calls each rank in turn; a block comes in two pieces",
         .paper = kProficz,
         .limits = "",
         .segmented = true,
         .whole_by_default = true},
        {.operation = OperationKind::gather,
         .name = "binomial",
         .aliases = {"bnom"},
         .algorithm = &gather_binomial,
         .summary = "halving tree: who has the blocks of its subtree sends them on",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::gather,
         .name = "sorted_linear_synchronized",
         .aliases = {"sls"},
         .algorithm = &gather_sorted_linear_synchronized,
         .summary = "the root calls each rank in the order of arrival",
         .paper = kProficz,
         .limits = "",
         .segmented = true,
         .whole_by_default = true},
        {.operation = OperationKind::gather,
         .name = "sorted_binomial",
         .aliases = {"sbn"},
         .algorithm = &gather_sorted_binomial,
         .summary = "halving tree; who comes late stands near the root",
         .paper = kProficz,
         .limits = "the root tells each rank its place: for planned calls, where that is done before they arrive"},
        {.operation = OperationKind::gather,
         .name = "background_sorted_linear_synchronized",
         .aliases = {"bsls", "bls"},
         .algorithm = &gather_background_sorted_linear_synchronized,
         .summary = "as sorted_linear_synchronized; a planned root calls before its caller arrives",
         .paper = kProficz,
         .limits = "",
         .segmented = true,
         .whole_by_default = true},
        {.operation = OperationKind::gather,
         .name = "background_sorted_binomial",
         .aliases = {"bsbn"},
         .algorithm = &gather_background_sorted_binomial,
         .summary = "as sorted_binomial; planned calls collect before their caller arrives",
         .paper = kProficz,
         .limits = ""},
        {.operation = OperationKind::gather,
         .name = "online_linear",
         .aliases = {},
         .algorithm = &gather_online_linear,
         .summary = "the root calls those who have arrived, and nobody else",
         .paper = "Our own, after Patarasuk, Yuan and Proficz",
         .limits = "",
         .segmented = true,
         .whole_by_default = true},
        {.operation = OperationKind::barrier,
         .name = "linear",
         .aliases = {"central"},
         .algorithm = &barrier_linear,
         .summary = "everybody tells rank 0, which tells everybody",
         .paper = "",
         .limits = ""},
        {.operation = OperationKind::barrier,
         .name = "dissemination",
         .aliases = {},
         .algorithm = &barrier_dissemination,
         .summary = "log2 n rounds, each rank tells one other",
         .paper = "Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988",
         .limits = ""},
        {.operation = OperationKind::barrier,
         .name = "board_linear",
         .aliases = {"board_central"},
         .algorithm = &barrier_board_linear,
         .summary = "as linear, by stores into the arrivals boards instead of messages",
         .paper = "",
         .limits = "made for ranks that share memory; without slots on the board it is linear"},
        {.operation = OperationKind::barrier,
         .name = "board_all_to_all",
         .aliases = {"board"},
         .algorithm = &barrier_board_all_to_all,
         .summary = "everybody writes into everybody's arrivals board, in one step",
         .paper = "Our own",
         .limits = "made for ranks that share memory; without slots on the board it is dissemination"},
    };
    return all;
}

}  // namespace

std::span<const AlgorithmEntry> catalogue() { return entries(); }

runtime::Call make_call(const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::uint64_t segment_bytes) {
    runtime::Call call;
    call.kind = entry.operation;
    call.root = root;
    call.bytes = bytes;
    call.algorithm = static_cast<std::uint8_t>(&entry - entries().data() + 1);  // 0 stands for none
    call.segment_bytes = segment_bytes;
    return call;
}

std::string_view algorithm_name(std::uint8_t number) noexcept {
    return number >= 1 && number <= entries().size() ? entries()[number - 1].name : "an unknown algorithm";
}

std::vector<std::string_view> algorithm_names(OperationKind operation, bool simulated) {
    std::vector<std::string_view> names;
    for (const AlgorithmEntry& entry : entries())
        if (entry.operation == operation && (simulated || !entry.simulated_only)) names.push_back(entry.name);
    return names;
}

const AlgorithmEntry& find_algorithm(OperationKind operation, std::string_view name, bool simulated) {
    for (const AlgorithmEntry& entry : entries()) {
        if (entry.operation != operation) continue;
        if (entry.name != name && std::find(entry.aliases.begin(), entry.aliases.end(), name) == entry.aliases.end()) continue;
        if (!entry.simulated_only || simulated) return entry;
        throw Error(ErrorCode::invalid_argument, fmt::format("{} algorithm '{}' runs in simulations only (rollcall simulate); allowed: {}",
                                                             runtime::name(operation), name, fmt::join(algorithm_names(operation), ", ")));
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("unknown {} algorithm '{}'; allowed: {}", runtime::name(operation), name,
                                                         fmt::join(algorithm_names(operation, simulated), ", ")));
}

}  // namespace rollcall::collectives
