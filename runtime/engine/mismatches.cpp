#include "runtime/engine/mismatches.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

/// `how` names the calls and says what to do.
Error do_not_match(const Group& group, std::uint64_t sequence, const std::string& how) {
    return Error(ErrorCode::mismatch,
                 fmt::format("the calls at sequence {} of communicator {} do not match: {}", sequence, group.name, how));
}

/// The calls differ in the sizes which each of them counts for all blocks. If this rank is still in the call, it knows what it counts (its
/// `blocks`). Then the error names the block that the two ranks count differently.
Error counts_do_not_match(const Group& group, std::uint64_t sequence, const Call& mine, int own, const Block* blocks, const Call& other,
                          int source) {
    std::string what = fmt::format("other sizes than rank {}", own);
    for (int rank = 0; blocks && rank < group.size; ++rank)
        if (const auto other_size = SumOfSizes(mine.bytes).in_other(SumOfSizes(other.bytes), rank, blocks[rank].size)) {
            what = fmt::format("{} bytes for the block of rank {}, but rank {} counts {}", *other_size, rank, own, blocks[rank].size);
            break;
        }
    return do_not_match(
        group, sequence,
        fmt::format("in {} rank {} counts {}. All ranks must give the same size for each rank's block", to_string(mine), source, what));
}

/// The root counts other sizes than the blocks have.
Error sizes_do_not_match(const Group& group, std::uint64_t sequence, const Call& call, const std::string& what) {
    return do_not_match(
        group, sequence,
        fmt::format("in {} the root counts {}. The root must give for each rank the size of that rank's block", to_string(call), what));
}

}  // namespace

void fail_mismatch(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& mine, const Call& other, int source,
                   int whose) {
    const Group& group = *communicator.group;
    int first = whose < 0 ? communicator.rank : group.rank_of(whose), second = group.rank_of(source);
    if (mine.counts_others(other)) {
        const Operation* const operation = engine.find_active(group.id, sequence);
        const Block* const blocks = operation ? operation->arguments().blocks : nullptr;
        return engine.break_communicator(communicator, sequence, counts_do_not_match(group, sequence, mine, first, blocks, other, second),
                                         true);
    }
    const Call *first_call = &mine, *second_call = &other;
    if (second < first) {
        std::swap(first, second);
        std::swap(first_call, second_call);
    }
    const bool same_request = mine.same_request(other);
    const auto in_words = [&](const Call& call) {
        if (call.kind == OperationKind::finalize) return std::string(engine.options().end);
        return same_request ? to_string(call, engine.options().algorithm_name) : to_string(call);
    };
    const char* const advice =
        same_request ? "All ranks must do it in the same way: give them the same options and ROLLCALL_ settings"
                     : "All ranks of a communicator must call the same operations in the same order, with the same root and size";
    engine.break_communicator(communicator, sequence,
                              do_not_match(group, sequence,
                                           fmt::format("rank {} called {}, rank {} called {}. {}", first, in_words(*first_call), second,
                                                       in_words(*second_call), advice)),
                              true);
}

bool check_call(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, int source) {
    const Call* mine = communicator.recall(sequence);
    if (!mine || mine->agrees_with(call)) return true;
    fail_mismatch(engine, communicator, sequence, *mine, call, source);
    return false;
}

// --- what an operation finds -------------------------------------------------------------------------------------------------

void Operation::tell_call_differs(const Call& other, int source) {
    fail_mismatch(*engine_, communicator_, sequence(), call_, other, source, called_by());
}

void Operation::tell_sizes_differ(int rank, std::uint64_t at_root, std::uint64_t elsewhere) {
    const Group& group = *communicator_.group;
    const int own = communicator_.rank;
    if (call_.root >= 0) {
        const int other = own == call_.root ? rank : own;
        const std::string what = fmt::format("{} bytes for {}, but its block has {}", at_root, member_name(group, other), elsewhere);
        return engine_->break_communicator(communicator_, sequence(), sizes_do_not_match(group, sequence(), call_, what), true);
    }
    // In an allgather between two groups, each rank knows the sizes of the other group only.
    if (group.first_group > 0 && !arguments_.contribution_blocks) return tell_groups_differ(rank);
    tell_exchange_differs(rank, own, at_root, elsewhere);
}

void Operation::tell_exchange_differs(int from, int to, std::uint64_t counted, std::uint64_t sent) {
    const Group& group = *communicator_.group;
    engine_->break_communicator(
        communicator_, sequence(),
        do_not_match(group, sequence(),
                     fmt::format("in {} {} sends {} bytes to {}, which counts {} from it. A receiver must count for each "
                                 "rank what that rank sends to it",
                                 to_string(call_), member_name(group, from), sent, member_name(group, to), counted)),
        true);
}

void Operation::tell_sizes_differ(int first, int last, std::uint64_t at_root, std::uint64_t elsewhere) {
    const std::string what = fmt::format(
        "{} bytes for ranks {} to {} together, but their blocks have {}, and several of them have other sizes than the root counts",
        at_root, first, last, elsewhere);
    engine_->break_communicator(communicator_, sequence(), sizes_do_not_match(*communicator_.group, sequence(), call_, what), true);
}

void Operation::tell_groups_differ(int rank) {
    const Group& group = *communicator_.group;
    const int other = group.world_rank(rank);
    engine_->break_communicator(
        communicator_, sequence(),
        do_not_match(group, sequence(),
                     fmt::format("in {} the groups of {} and {} count other sizes for each other's blocks than they have. Every rank must "
                                 "give for each rank of the other group the size of that rank's block",
                                 to_string(call_), engine_->name_of(group.world_rank(communicator_.rank)), engine_->name_of(other))),
        true);
}

}  // namespace rollcall::runtime
