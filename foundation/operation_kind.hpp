/// \file
/// The kinds of operations, by number and by name. This header includes no other header of Rollcall. The settings and all folders above use
/// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rollcall::inline foundation {

/// The numbers travel in messages, so a new kind must be added at the end.
enum class OperationKind : std::uint8_t {
    point_to_point,
    broadcast,
    scatter,
    gather,
    barrier,
    split,
    duplicate,
    clocks,
    plan,
    finalize,
    create,
    reduce,
    allreduce,
    reduce_scatter,
    scan,
    exclusive_scan,
    intergroup_allgather,
    intergroup_broadcast,
    intergroup_scatter,
    intergroup_gather,
    intergroup_reduce,
    intergroup_allreduce,
    intergroup_alltoall,
    allgather,
    alltoall,
    share_job
};

struct OperationName {
    OperationKind kind;
    std::string_view name;
    /// The environment variable that sets its algorithm. Empty if the operation has only one algorithm.
    std::string_view setting;
    bool is_between_groups = false;
};

/// In the order of the numbers.
inline constexpr std::array kOperationNames = {
    OperationName{OperationKind::point_to_point, "send/receive", ""},
    OperationName{OperationKind::broadcast, "broadcast", "ROLLCALL_BROADCAST"},
    OperationName{OperationKind::scatter, "scatter", "ROLLCALL_SCATTER"},
    OperationName{OperationKind::gather, "gather", "ROLLCALL_GATHER"},
    OperationName{OperationKind::barrier, "barrier", "ROLLCALL_BARRIER"},
    OperationName{OperationKind::split, "split", ""},
    OperationName{OperationKind::duplicate, "duplicate", ""},
    OperationName{OperationKind::clocks, "synchronize_clocks", ""},
    OperationName{OperationKind::plan, "plan", ""},
    OperationName{OperationKind::finalize, "finalize", ""},
    OperationName{OperationKind::create, "create", ""},
    OperationName{OperationKind::reduce, "reduce", "ROLLCALL_REDUCE"},
    OperationName{OperationKind::allreduce, "allreduce", "ROLLCALL_ALLREDUCE"},
    OperationName{OperationKind::reduce_scatter, "reduce_scatter", "ROLLCALL_REDUCE_SCATTER"},
    OperationName{OperationKind::scan, "scan", "ROLLCALL_SCAN"},
    OperationName{OperationKind::exclusive_scan, "exclusive_scan", "ROLLCALL_EXCLUSIVE_SCAN"},
    OperationName{OperationKind::intergroup_allgather, "intergroup_allgather", "ROLLCALL_INTERGROUP_ALLGATHER", true},
    OperationName{OperationKind::intergroup_broadcast, "intergroup_broadcast", "ROLLCALL_INTERGROUP_BROADCAST", true},
    OperationName{OperationKind::intergroup_scatter, "intergroup_scatter", "ROLLCALL_INTERGROUP_SCATTER", true},
    OperationName{OperationKind::intergroup_gather, "intergroup_gather", "ROLLCALL_INTERGROUP_GATHER", true},
    OperationName{OperationKind::intergroup_reduce, "intergroup_reduce", "ROLLCALL_INTERGROUP_REDUCE", true},
    OperationName{OperationKind::intergroup_allreduce, "intergroup_allreduce", "ROLLCALL_INTERGROUP_ALLREDUCE", true},
    OperationName{OperationKind::intergroup_alltoall, "intergroup_alltoall", "ROLLCALL_INTERGROUP_ALLTOALL", true},
    OperationName{OperationKind::allgather, "allgather", "ROLLCALL_ALLGATHER"},
    OperationName{OperationKind::alltoall, "alltoall", "ROLLCALL_ALLTOALL"},
    OperationName{OperationKind::share_job, "Job", ""},  // the constructor, of a part of the program that is not the first one
};
inline constexpr std::size_t kOperationKinds = kOperationNames.size();

constexpr std::size_t index_of(OperationKind kind) noexcept { return static_cast<std::size_t>(kind); }
static_assert(
    [] {
        for (std::size_t i = 0; i < kOperationKinds; ++i)
            if (index_of(kOperationNames[i].kind) != i) return false;
        return true;
    }(),
    "kOperationNames is not in the order of OperationKind");

constexpr bool is_between_groups(OperationKind kind) noexcept {
    return index_of(kind) < kOperationKinds && kOperationNames[index_of(kind)].is_between_groups;
}

/// Also accepts an unknown number that came in a message.
constexpr std::string_view name(OperationKind kind) noexcept {
    return index_of(kind) < kOperationKinds ? kOperationNames[index_of(kind)].name : "an unknown operation";
}

}  // namespace rollcall::inline foundation
