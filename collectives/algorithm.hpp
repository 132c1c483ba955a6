/// \file
/// The description of an algorithm beside its code, the rules by which it is chosen, and the checks of both that are made at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

#include "collectives/costs/costs.hpp"
#include "foundation/hash.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/short_call.hpp"
#include "runtime/group/call.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::OperationKind;
using runtime::Task;

/// What a call offers and what an algorithm needs. The conditions of a call are the same on all ranks: only facts that all ranks know
/// count.
enum class Condition : std::uint16_t {
    oracle = 1 << 0,         ///< All arrivals are known in advance (simulations only).
    landing = 1 << 1,        ///< Early data can land (the budget is not zero).
    shared_boards = 1 << 2,  ///< All ranks are on one node and share memory, and have slots on each other's arrivals boards.
    equal_blocks = 1 << 3,   ///< All blocks have the same size.
    commutative = 1 << 4,    ///< Operands may be combined in any order.
    any_order = 1 << 5,      ///< The result may also differ, in its last bits, with the order of arrival.
    node_memory = 1 << 6,    ///< All ranks are on one node and share memory in which they publish.
    whole_pieces = 1 << 7,   ///< A piece of node memory has room for an element.
    several_nodes = 1 << 8,  ///< The ranks are on several nodes, at least one of which has several ranks that share memory (Group::nodes).
    even_nodes = 1 << 9,     ///< Of the ranks' several nodes, none has less than half as many of the ranks as another one.
    background = 1 << 10,    ///< A rank's part may begin before its caller and go on after it (runtime/engine/deputy.hpp).
    called = 1 << 11,        ///< It is not planned: nothing is known of its callers before they come.
};

class Conditions {
  public:
    constexpr Conditions() = default;
    constexpr Conditions(Condition one) : bits_(static_cast<std::uint16_t>(one)) {}
    constexpr Conditions with(Conditions others) const { return Conditions(bits_ | others.bits_); }
    constexpr Conditions without(Conditions others) const { return Conditions(bits_ & ~others.bits_); }
    constexpr bool contains(Conditions all) const { return (all.bits_ & ~bits_) == 0; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr bool operator==(const Conditions&) const = default;

  private:
    constexpr explicit Conditions(int bits) : bits_(static_cast<std::uint16_t>(bits)) {}
    std::uint16_t bits_ = 0;
};
constexpr Conditions operator|(Condition one, Condition other) { return Conditions(one).with(other); }
constexpr Conditions operator|(Conditions some, Condition other) { return some.with(other); }

/// The conditions of a call unless something rules them out.
inline constexpr Conditions kUsual = Condition::landing | Condition::equal_blocks | Condition::commutative | Condition::any_order |
                                     Condition::whole_pieces | Condition::called;

/// The conditions that some call between real processes can have.
inline constexpr Conditions kReal =
    kUsual | Condition::shared_boards | Condition::node_memory | Condition::several_nodes | Condition::even_nodes | Condition::background;

/// A short list of names.
class Aliases {
  public:
    constexpr Aliases() = default;
    constexpr Aliases(std::initializer_list<std::string_view> names) : count_(names.size()) {
        std::copy(names.begin(), names.end(), names_.begin());
    }
    constexpr const std::string_view* begin() const { return names_.data(); }
    constexpr const std::string_view* end() const { return names_.data() + count_; }
    constexpr std::size_t size() const { return count_; }

  private:
    std::array<std::string_view, 4> names_;
    std::size_t count_ = 0;
};

/// The number of an algorithm in messages: a hash of its name (FNV-1a, folded), so that it does not change when other algorithms are added.
constexpr std::uint16_t number_of(std::string_view name) {
    const std::uint32_t hash = short_hash_of(name);
    return static_cast<std::uint16_t>(hash >> 16 ^ hash);
}

struct AlgorithmEntry {
    OperationKind operation;
    std::string_view name;
    Aliases aliases = {};  ///< The short names used in papers, for the command line.
    runtime::Algorithm algorithm;
    std::string_view summary;
    std::string_view paper = "";
    std::string_view limits = "";   ///< The limits in words; empty: there are none.
    bool segmented = false;         ///< It uses the segment size.
    bool whole_by_default = false;  ///< It is not cut into segments where no segment size is given, unless it chooses them.
    bool chooses_pieces = false;    ///< Where no segment size is given, it chooses the pieces itself.
    Conditions needs = {};          ///< It never runs in a call that lacks one of these conditions.
    /// In a planned call it runs from the beginning of the compute phase on, and its code says what must wait for its caller. Other
    /// algorithms begin when their caller arrives.
    bool begins_early = false;
    /// What a planned call runs, if not `algorithm`. All ranks of a call have planned it, or none has.
    runtime::Algorithm when_planned = nullptr;
    /// A rank's part may run without its caller: it needs only the buffers, and no slots on the arrivals board.
    bool runs_alone = false;
    /// If it runs alone: what a caller waits for that could hand its data over. The engine compares that with a copy.
    SendsAwaited sends_awaited = SendsAwaited::unknown;
    /// A rank's part may begin before its caller, without any buffers: until Operation::has_buffers() the code passes on what has landed
    /// (Operation::take_landed()). It needs no slots on the arrivals board. The part ends with its caller.
    bool forwards = false;
    cost::Estimate cost = nullptr;  ///< How long it takes. Null: no rule compares it with others.
    /// In a call of this size: how many bytes of memory a rank other than the root needs in order to collect what other ranks bring before
    /// its caller comes; 0: other ranks bring nothing. Where it needs memory, its part may begin before its caller although it reads the
    /// caller's contribution: the code collects in `data`, and waits for the caller (Operation::arrival()) before it reads. A part that
    /// goes on after its caller gets a `data` of this size, too, or, if it moves pieces, one with room for those that are under way. In
    /// calls whose blocks have sizes of their own it gets none: nobody knows yet what comes, and the algorithm makes room for that itself.
    /// (Functions whose order counts are the program's, and no part runs alone with them.) Null: a part that reads begins with its caller.
    std::uint64_t (*collects)(std::uint64_t bytes, int root, int rank, int ranks) = nullptr;
    /// How many bytes of other ranks' blocks a part of equal blocks holds while it passes them on, in a `data` that its caller does not
    /// have. Null: none.
    std::uint64_t (*passes_on)(std::uint64_t bytes, int root, int rank, const runtime::Group& group) = nullptr;
    /// If it runs alone: whether this rank does no more than publish in node memory (PartAlone::only_publishes). Null: no rank does only
    /// that.
    bool (*only_publishes)(std::uint64_t bytes, int root, int rank, const runtime::Group& group) = nullptr;
    /// Through node memory: what a rank does in a call with blocks of one size that suits a ShortExchange. Null: always more than a
    /// ShortMove.
    runtime::ShortMoveOf short_move = nullptr;
    std::uint16_t number = number_of(name);

    constexpr bool is_called(std::string_view text) const {
        return name == text || std::find(aliases.begin(), aliases.end(), text) != aliases.end();
    }
};

// Sources of several algorithms.
inline constexpr std::string_view kPatarasukYuan = "Patarasuk, Yuan: Efficient MPI_Bcast across different process arrival patterns";
inline constexpr std::string_view kProficz =
    "Proficz: Process arrival pattern aware algorithms for acceleration of scatter and gather operations";
inline constexpr std::string_view kTraeff = "Träff: On Optimal Trees for Irregular Gather and Scatter Collectives";

inline constexpr std::string_view kSandersSibeyn = "Sanders, Sibeyn: A bandwidth latency tradeoff for broadcast and reduction";

inline constexpr std::string_view kThakur = "Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH";

inline constexpr std::string_view kBruck = "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications";

inline constexpr std::string_view kNodeMemory = "Our own, after the non-blocking model of Patarasuk and Yuan";

inline constexpr std::string_view kCheetah =
    "Our own, after Graham et al.: Cheetah, a framework for scalable hierarchical collective operations";

inline constexpr std::string_view kMultiLane =
    "Träff, Hunold: Decomposing MPI collectives for exploiting multi-lane communication, through node memory";

inline constexpr std::uint64_t kAnyBytes = std::numeric_limits<std::uint64_t>::max();
inline constexpr int kAnyRanks = std::numeric_limits<int>::max();

/// The other algorithms of a rule that compares.
class Others {
  public:
    constexpr Others() = default;
    constexpr Others(std::initializer_list<const AlgorithmEntry*> algorithms) : count_(algorithms.size()) {
        std::copy(algorithms.begin(), algorithms.end(), algorithms_.begin());
    }
    constexpr const AlgorithmEntry* const* begin() const { return algorithms_.data(); }
    constexpr const AlgorithmEntry* const* end() const { return algorithms_.data() + count_; }
    constexpr bool empty() const { return count_ == 0; }
    constexpr std::size_t size() const { return count_; }
    /// The same number of algorithms, where `its(algorithm)` takes the place of each.
    constexpr Others each(auto its) const {
        Others changed = *this;
        for (std::size_t i = 0; i < count_; ++i) changed.algorithms_[i] = its(algorithms_[i]);
        return changed;
    }

  private:
    std::array<const AlgorithmEntry*, 3> algorithms_{};
    std::size_t count_ = 0;
};

/// One rule of `auto`, which takes the first rule that fits. `why` says what was measured or proved.
///
/// A rule with `others` names algorithms that are equally good except for the time they take. The one with the lowest estimate runs, and
/// the first of equal ones. Such a rule does not fit where blocks have own sizes, because no rank knows all of them.
struct Rule {
    std::uint64_t up_to_bytes;
    int up_to_ranks;
    const AlgorithmEntry* algorithm;
    std::string_view why;
    Conditions where = {};  ///< The rule holds in calls that have all of these conditions (and those that the algorithm needs).
    /// The segment size for a call of this size among this many ranks, where no other is asked for; null: that of the setting. Algorithms
    /// that are not cut by default are not cut.
    std::uint64_t (*segment)(const CostInput& input) = nullptr;
    Others others = {};
    /// The rule holds where a rank's share of the message, if that is divided among all ranks, has at most so many bytes.
    std::uint64_t up_to_share = kAnyBytes;

    constexpr bool fits(std::uint64_t bytes, int ranks) const {
        return bytes <= up_to_bytes && ranks <= up_to_ranks && bytes / static_cast<std::uint64_t>(ranks) <= up_to_share;
    }
    constexpr bool compares() const { return !others.empty(); }
    /// The algorithm and the others, by number.
    constexpr const AlgorithmEntry* candidate(std::size_t number) const { return number == 0 ? algorithm : others.begin()[number - 1]; }
    constexpr std::size_t candidates() const { return 1 + others.size(); }
};
/// How many rules of an operation compare, at most.
inline constexpr std::size_t kMostComparisons = 3;

/// The entry with this name, for rules. A name that does not exist is a compile-time error.
template <std::size_t N>
consteval const AlgorithmEntry* named(const AlgorithmEntry (&entries)[N], std::string_view name) {
    const AlgorithmEntry* const found = std::find_if(entries, entries + N, [&](const auto& entry) { return entry.name == name; });
    if (found == entries + N) throw "no algorithm has this name";
    return found;
}

// --- compile-time checks of the tables of an operation -----------------------------------------------------------------------

/// Checks that no name or alias means two algorithms, or `auto`.
constexpr bool names_are_unique(std::span<const AlgorithmEntry> entries) {
    for (const AlgorithmEntry& entry : entries) {
        if (entry.is_called("auto") || entry.is_called("")) return false;
        for (const std::string_view alias : entry.aliases)
            if (alias == entry.name || std::count(entry.aliases.begin(), entry.aliases.end(), alias) != 1) return false;
        for (const AlgorithmEntry& other : entries) {
            if (&other == &entry) continue;
            if (other.is_called(entry.name)) return false;
            for (const std::string_view alias : entry.aliases)
                if (other.is_called(alias)) return false;
        }
    }
    return true;
}

/// Checks that every algorithm has a number of its own, which is not 0; 0 means no algorithm.
constexpr bool numbers_are_unique(std::span<const AlgorithmEntry> entries) {
    for (const AlgorithmEntry& entry : entries) {
        if (entry.number == 0) return false;
        for (const AlgorithmEntry& other : entries)
            if (&other != &entry && other.number == entry.number) return false;
    }
    return true;
}

constexpr bool are_complete(std::span<const AlgorithmEntry> entries, OperationKind operation) {
    for (const AlgorithmEntry& entry : entries)
        if (entry.operation != operation || !entry.algorithm || entry.summary.empty()) return false;
    return !entries.empty();
}

/// Checks that the last rule accepts every possible call, and that no rule takes an algorithm which needs the oracle of a simulation.
constexpr bool are_enough(std::span<const Rule> rules) {
    for (const Rule& rule : rules)
        if (rule.why.empty() || rule.algorithm->needs.contains(Condition::oracle)) return false;
    const Rule& last = rules.back();
    return last.up_to_bytes == kAnyBytes && last.up_to_ranks == kAnyRanks && last.up_to_share == kAnyBytes && last.where.empty() &&
           last.algorithm->needs.empty();
}

/// Checks that rules compare only what has an estimate and can run wherever the rule fits, and that not too many rules compare.
constexpr bool can_compare(std::span<const Rule> rules, bool has_own_sizes) {
    std::size_t count = 0;
    for (const Rule& rule : rules) {
        if (!rule.compares()) continue;
        ++count;
        for (std::size_t i = 0; i < rule.candidates(); ++i)
            if (!rule.candidate(i)->cost || !rule.where.with(rule.algorithm->needs).contains(rule.candidate(i)->needs)) return false;
    }
    return count <= kMostComparisons && !(has_own_sizes && rules.back().compares());
}

}  // namespace rollcall::collectives
