/// \file
/// Decides which algorithm a call runs, and says why.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "collectives/catalogue.hpp"
#include "foundation/settings.hpp"

namespace rollcall::collectives {

/// What all ranks know of a call.
struct SelectionInput {
    std::uint64_t bytes = 0;  ///< Size of the message, or of one block where blocks are moved. kAnyBytes: blocks have sizes of their own.
    int ranks = 1;
    Conditions has = kUsual;
    int nodes = 0;  ///< How many nodes the ranks are on, with Condition::several_nodes; otherwise 0.
    /// Of a call between two groups: see CostInput. 0: not known.
    int ranks_of_group = 0, nodes_of_group = 0;
    const Costs* costs = &kBuiltInCosts;
    bool is_average = false;  ///< The blocks have sizes of their own, all ranks know them, and `bytes` is the average.
};

/// The call as the estimates see it. Messages go between hosts unless the ranks share their boards.
CostInput cost_input_of(const SelectionInput& input);

/// What the rules that compare have chosen in one communicator, so that they compare once for each size. Sizes are rounded up to a power of
/// two. Any thread may use it: a choice that two threads make is the same.
class Choices {
  public:
    /// The number of the candidate. `comparison` counts the operation's rules that compare.
    std::size_t of(const OperationRow& row, const Rule& rule, std::size_t comparison, const SelectionInput& input);

    static constexpr std::size_t kSizes = 48;  ///< Longer messages are like those of 2^47 bytes.

  private:
    /// 0: not compared yet. Otherwise 1 + the number of the candidate.
    std::array<std::array<std::array<std::atomic<std::uint8_t>, kSizes>, kMostComparisons>, kOperationKinds> chosen_{};
};

struct Selection {
    const AlgorithmEntry* entry = nullptr;
    std::string_view why = "";  ///< What was measured or proved, or who asked for it.
    /// The algorithm that a setting asks for, if it cannot do this call.
    const AlgorithmEntry* passed_over = nullptr;
    /// The segment size, as in Rule::segment.
    std::uint64_t (*segment)(const CostInput& input) = nullptr;
    /// The rule that compared the algorithm with others. Null: none did.
    const Rule* compared = nullptr;
};

/// What the ranks of a communicator have in common.
struct InCommon {
    bool boards = false;         ///< Condition::shared_boards
    bool node_memory = false;    ///< Condition::node_memory
    bool several_nodes = false;  ///< Condition::several_nodes
    bool even_nodes = false;     ///< Condition::even_nodes
};
/// The conditions of calls in a communicator of a job with these settings.
Conditions conditions_of(const Settings& settings, const InCommon& common) noexcept;
/// The conditions that remain of `has` when elements are combined with this combiner.
Conditions conditions_of(const Combiner& combiner, Conditions has) noexcept;

/// What `auto` takes. All ranks get the same answer for the same input, because it contains only what all ranks know. `choices` are
/// those of the communicator; null: the rules compare each time. With choices, all inputs must have the same ranks, nodes, costs and
/// place.
Selection select(const OperationRow& row, const SelectionInput& input, Choices* choices = nullptr);
inline Selection select(OperationKind kind, const SelectionInput& input) { return select(operation(kind), input); }

/// The algorithm that is asked for: by the call (`asked`: a name, `auto`, or empty for nothing), otherwise by a setting (null: `auto`). If
/// a call asks for an algorithm that cannot do it, throws Error{invalid_argument}. If a setting does, `auto` takes its place.
Selection choose(const OperationRow& row, const SelectionInput& input, std::string_view asked, const AlgorithmEntry* setting,
                 Choices* choices = nullptr);

/// The size of the pieces, in bytes; 0: the message is not cut. `setting`: ROLLCALL_SEGMENT_BYTES. A rule's own size holds unless that
/// setting has another value than the built-in one.
std::uint64_t segment_of(const Selection& selection, const SelectionInput& input, std::uint64_t setting);

/// Why, and what was compared: "...; by the built-in costs: linear 20.3 us, binomial 39.3 us (1.93 times as long)".
std::string reason(const SelectionInput& input, const Selection& selection);

/// What a rank needs to leave its data behind.
struct Leaving {
    std::uint64_t room;                         ///< How many bytes may be copied.
    std::uint64_t longest = ~std::uint64_t{0};  ///< How many ROLLCALL_LANDING_LONGEST allows.
    bool has_background = true;                 ///< There is a background thread (ROLLCALL_PROGRESS).
};

/// Whether a rank that only contributes data leaves it to the background thread, and why: "the root leaves after a copy (84.0 us), because
/// it would wait for 852 us". Empty where that is not compared.
std::string stay_or_leave(const OperationRow& row, const SelectionInput& input, const AlgorithmEntry& entry, const Leaving& leaving);

/// "broadcast of 8 bytes to 8 ranks: linear, because: ..."
std::string explain(const OperationRow& row, const SelectionInput& input, const Selection& selection);
inline std::string explain(OperationKind kind, const SelectionInput& input, const Selection& selection) {
    return explain(operation(kind), input, selection);
}

}  // namespace rollcall::collectives
