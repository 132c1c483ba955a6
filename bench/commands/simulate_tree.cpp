#include "bench/commands/simulate_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bench/cases/traeff_tables.hpp"
#include "bench/options/sweep.hpp"
#include "bench/plots/tree_drawing.hpp"
#include "bench/results/interruptible_progress.hpp"
#include "bench/results/number.hpp"
#include "collectives/trees/adaptive.hpp"
#include "collectives/trees/completion.hpp"
#include "collectives/trees/optimal_binary.hpp"
#include "collectives/trees/unordered.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/units.hpp"
#include "support/output.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace simulate_tree_command {
namespace {

using namespace collectives;

/// Limit of the ranks. Dynamic programs need 32 bytes for each pair of ranks: 3 GB.
constexpr std::uint64_t kMostRanks = 10'000;
constexpr int kDefaultRho = 5;
constexpr std::string_view kBestRoot = "best", kMiddleRoot = "middle";

struct Words {
    std::optional<std::string> sizes, ranks, block, alpha, gamma, paper, late;
    std::string beta = "1", rho = std::to_string(kDefaultRho), seed = "1", trees = "all", roots = "middle,best";
    std::string draw;
    output::Format format = output::Format::text;
};

/// Makes the trees for one problem. What trees with different roots have in common is computed only once.
class TreeMaker {
  public:
    TreeMaker(const BlockProblem& problem, const LinearCosts& costs) : problem_(problem), costs_(costs) {}

    TimedTree linear(int root) {
        if (root != kAnyRoot) return timed(star_tree(problem_.ranks(), root));
        return best_of(every_rank(), [&](int each) { return star_tree(problem_.ranks(), each); });
    }
    TimedTree binary(int root) {
        if (!binary_) binary_.emplace(problem_.sizes, costs_);
        return root == kAnyRoot ? binary_->best() : binary_->with_root(root);
    }
    TimedTree oblivious(int root) {
        if (root != kAnyRoot) return timed(oblivious_tree(problem_.ranks(), root));
        std::vector<int> roots = {0, problem_.ranks() - 1};  // followed by the roots of whole segments
        for (int rank = 1; rank < problem_.ranks(); rank = 2 * rank + 1) roots.push_back(rank);
        return best_of(roots, [&](int each) { return oblivious_tree(problem_.ranks(), each); });
    }
    TimedTree adaptive(int root) { return timed(adaptive_tree(problem_, costs_, root)); }
    TimedTree optimal(int root) {
        if (!optimal_) optimal_.emplace(problem_, costs_);
        return root == kAnyRoot ? optimal_->best() : optimal_->with_root(root);
    }
    TimedTree two_part(int root) { return timed(best_two_part_tree(problem_, large_from(problem_.sizes), costs_, root).tree); }
    TimedTree sorted(int root) {
        std::vector<int> order = every_rank();
        // The root comes first, as if it had the largest block or arrived first. The parts of ranks that follow it are received first.
        std::stable_sort(order.begin(), order.end(), [&](int one, int other) {
            if (one == root || other == root) return one == root && other != root;
            if (problem_.arrival(one) != problem_.arrival(other)) return problem_.arrival(one) < problem_.arrival(other);
            return problem_.size(one) > problem_.size(other);
        });
        return optimal_tree_in_order(problem_, order, costs_, root);
    }
    TimedTree unordered(int root) { return best_unordered_tree(problem_, costs_, root); }

  private:
    TimedTree timed(BlockTree tree) const {
        const double time = completion_time(tree, problem_, costs_);
        return {std::move(tree), time};
    }
    std::vector<int> every_rank() const {
        std::vector<int> ranks(problem_.sizes.size());
        std::iota(ranks.begin(), ranks.end(), 0);
        return ranks;
    }
    template <class Make>
    TimedTree best_of(const std::vector<int>& roots, Make make) const {
        TimedTree best{BlockTree(), std::numeric_limits<double>::infinity()};
        for (const int root : roots)
            if (TimedTree tree = timed(make(root)); tree.time < best.time) best = std::move(tree);
        return best;
    }

    BlockProblem problem_;
    LinearCosts costs_;
    std::optional<OptimalTrees> optimal_;
    std::optional<OptimalBinaryTrees> binary_;
};

struct TreeKind {
    std::string_view name;
    TimedTree (TreeMaker::*make)(int root);
    bool in_all = true;
};
/// In the order of the paper's columns, as far as the paper has them.
constexpr TreeKind kTreeKinds[] = {
    {"linear", &TreeMaker::linear},       {"binary", &TreeMaker::binary},
    {"oblivious", &TreeMaker::oblivious}, {"adaptive", &TreeMaker::adaptive},
    {"optimal", &TreeMaker::optimal},     {"two_part", &TreeMaker::two_part},
    {"sorted", &TreeMaker::sorted},       {"unordered", &TreeMaker::unordered, false},
};

/// Whether "all" includes a kind: it is in the paper, or it uses arrivals.
bool in_all(const TreeKind& kind, const Words& words) {
    if (words.paper) return &kind < kTreeKinds + kTraeffTrees.size();
    return !words.late || kind.make != &TreeMaker::binary;
}

/// One list of sizes and its costs.
struct Problem {
    std::string name;
    std::vector<std::uint64_t> sizes;
    LinearCosts costs;
    const TraeffRow* printed = nullptr;
    std::vector<double> arrivals = {};
};

struct Plan {
    std::vector<Problem> problems;
    std::vector<const TreeKind*> kinds;
    std::vector<int> roots;  ///< The roots, or kAnyRoot.
    std::string draw;
    output::Format format;
};

double parse_cost(std::string_view text, std::string_view option) {
    const auto value = number_of_text<double>(text);
    if (!value || !std::isfinite(*value) || *value < 0)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} {}; allowed: a number from 0 on, such as 0.5", option, quote(text)));
    return *value;
}

/// The problems of Tables 1 to 3.
std::vector<Problem> problems_of_paper(const Words& words) {
    const std::vector<Choice> choices = {{.name = "table1"}, {.name = "table2"}, {.name = "table3"}};
    if (words.sizes || words.ranks || words.block || words.alpha || words.gamma || words.beta != "1" || words.seed != "1" || words.late ||
        words.rho != std::to_string(kDefaultRho))
        throw Error(ErrorCode::invalid_argument, "--paper together with sizes, ranks or costs; allowed: --paper with --trees and --root");
    std::vector<Problem> problems;
    for (const std::string& table : parse_names(*words.paper, "table", choices))
        for (const TraeffRow& row : kTraeffRows)
            if (row.alpha == kTraeffAlphas[static_cast<std::size_t>(table.back() - '1')])
                problems.push_back({.name = std::string(name(row.distribution)),
                                    .sizes = block_sizes(row.distribution, kTraeffRanks, kTraeffBlock),
                                    .costs = {.alpha = static_cast<double>(row.alpha), .beta = 1, .gamma = static_cast<double>(row.gamma)},
                                    .printed = &row});
    return problems;
}

std::vector<Problem> problems_of(const Words& words) {
    if (words.paper) return problems_of_paper(words);
    const LinearCosts costs{.alpha = parse_cost(words.alpha.value_or("100"), "--alpha"),
                            .beta = parse_cost(words.beta, "--beta"),
                            .gamma = parse_cost(words.gamma.value_or("1"), "--gamma")};
    if (costs.gamma > costs.beta)
        throw Error(ErrorCode::invalid_argument, "--gamma is more than --beta; allowed: a copy that costs no more than to send");
    const std::string sizes = words.sizes.value_or("spikes");
    std::vector<Problem> problems;
    if (sizes.find_first_of("0123456789") == 0) {
        if (words.ranks || words.block)
            throw Error(ErrorCode::invalid_argument,
                        "--sizes with numbers gives the ranks and their blocks; leave out --ranks and --block");
        if (words.rho != std::to_string(kDefaultRho) || (words.seed != "1" && !words.late))
            throw Error(ErrorCode::invalid_argument,
                        "--sizes with numbers draws no sizes; leave out --rho, and --seed if there is no --late");
        problems.push_back({.name = "given", .sizes = parse_sizes(sizes, "--sizes", Repeated::kept), .costs = costs});
        return problems;
    }
    const std::vector<SizeDistribution> distributions = parse_distributions(sizes);
    if (words.rho != std::to_string(kDefaultRho) && std::ranges::none_of(distributions, has_rho))
        throw Error(ErrorCode::invalid_argument, "--rho changes the sizes of spikes and skewed only; leave it out");
    if (words.seed != "1" && !words.late && std::ranges::none_of(distributions, is_random))
        throw Error(ErrorCode::invalid_argument, "--seed, but nothing random is drawn; allowed: with --late, or random sizes");
    const auto ranks = static_cast<int>(parse_count(words.ranks.value_or("2000"), "--ranks", 1, kMostRanks));
    const std::vector<std::uint64_t> blocks = parse_sizes(words.block.value_or("1000"), "--block");
    constexpr std::uint64_t kMostBlock = std::uint64_t{1} << 31;
    for (const std::uint64_t block : blocks)
        if (block < 1 || block > kMostBlock)
            throw Error(ErrorCode::invalid_argument, fmt::format("--block {}; allowed: 1 to 2Gi", format_bytes(block)));
    const auto rho = static_cast<int>(parse_count(words.rho, "--rho", 1, kMostRanks));
    const auto seed = static_cast<std::uint32_t>(parse_count(words.seed, "--seed", 0, std::numeric_limits<std::int32_t>::max()));
    for (const std::uint64_t block : blocks)
        for (const SizeDistribution each : distributions) {
            require_sizes(each, block);
            problems.push_back({.name = std::string(name(each)), .sizes = block_sizes(each, ranks, block, rho, seed), .costs = costs});
        }
    return problems;
}

/// Gives each rank a random arrival, up to the latest one.
void make_late(std::vector<Problem>& problems, const Words& words) {
    const double latest = parse_cost(*words.late, "--late");
    std::mt19937_64 random(parse_count(words.seed, "--seed", 0, std::numeric_limits<std::int32_t>::max()));
    for (Problem& problem : problems)
        for (std::size_t rank = 0; rank < problem.sizes.size(); ++rank)
            problem.arrivals.push_back(std::floor(latest * std::ldexp(static_cast<double>(random() >> 11), -53)));
}

Plan plan_of(const Words& words) {
    Plan plan{.problems = problems_of(words), .kinds = {}, .roots = {}, .draw = words.draw, .format = words.format};
    if (words.late) make_late(plan.problems, words);
    std::vector<Choice> choices;
    for (const TreeKind& kind : kTreeKinds) choices.push_back({.name = std::string(kind.name), .aliases = {}, .in_all = kind.in_all});
    for (const std::string& chosen : parse_names(words.trees, "tree", choices))
        for (const TreeKind& kind : kTreeKinds)
            if (kind.name == chosen && (words.trees != "all" || in_all(kind, words))) plan.kinds.push_back(&kind);
    const std::size_t ranks = plan.problems.front().sizes.size();
    for (const std::string_view entry : entries(words.roots)) {
        if (entry == kBestRoot)
            plan.roots.push_back(kAnyRoot);
        else if (entry == kMiddleRoot)
            plan.roots.push_back(static_cast<int>(ranks / 2));
        else if (const auto root = number_of_text<std::size_t>(entry); root && *root < ranks)
            plan.roots.push_back(static_cast<int>(*root));
        else
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--root {}; allowed: middle, best, or ranks from 0 to {}", quote(entry), ranks - 1));
    }
    for (const TreeKind* kind : plan.kinds) {
        if (words.late && kind->make == &TreeMaker::binary)
            throw Error(ErrorCode::invalid_argument, "--late with --trees binary; allowed: the others, which know arrivals");
        if (kind->make == &TreeMaker::unordered && ranks > static_cast<std::size_t>(kMostUnorderedRanks))
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--trees unordered for {} ranks; allowed: up to {}", ranks, kMostUnorderedRanks));
    }
    if (!plan.draw.empty() && (plan.problems.size() > 1 || plan.kinds.size() > 1 || plan.roots.size() > 1))
        throw Error(ErrorCode::invalid_argument, "--draw with several trees; allowed: one of --sizes, of --trees and of --root");
    return plan;
}

struct Shape {
    int depth = 0;
    std::size_t root_children = 0, most_children = 0;
    double sent = 0;  ///< How often each byte is sent, on average.
};

Shape shape_of(const BlockTree& tree, std::span<const std::uint64_t> sizes) {
    Shape shape;
    std::vector<int> height(tree.nodes.size(), 0);
    const auto segments = segment_sizes(tree, sizes);
    double total = 0;
    for (const int rank : children_first(tree)) {
        const auto at = static_cast<std::size_t>(rank);
        for (const int child : tree.node(rank).children) height[at] = std::max(height[at], height[static_cast<std::size_t>(child)] + 1);
        shape.most_children = std::max(shape.most_children, tree.node(rank).children.size());
        if (rank != tree.root) shape.sent += static_cast<double>(segments[at]);
        total += static_cast<double>(sizes[at]);
    }
    shape.depth = height[static_cast<std::size_t>(tree.root)];
    shape.root_children = tree.node(tree.root).children.size();
    shape.sent /= std::max(total, 1.0);
    return shape;
}

/// A lower bound of the time of any tree with this root, or with any root (section 2.3).
double bound(const Problem& problem, int root) {
    const double total = std::accumulate(problem.sizes.begin(), problem.sizes.end(), 0.0);
    const auto with = [&](std::uint64_t own) {
        const auto block = static_cast<double>(own);
        return problem.costs.transfer(total - block) + problem.costs.copy(0, problem.sizes.size() > 1 ? block : 0);
    };
    if (root != kAnyRoot) return with(problem.sizes[static_cast<std::size_t>(root)]);
    return with(*std::max_element(problem.sizes.begin(), problem.sizes.end()));
}

/// Adds the number that the paper prints for this case, if there is one.
void add_printed(output::Row& row, const TraeffRow& printed, std::size_t column, int root, double time, output::Format format) {
    const char* const names[] = {"printed", "printed_root", "difference"};
    std::array<output::Value, std::size(names)> values;
    if (column < kTraeffTrees.size() && (root == kAnyRoot || root == kTraeffRoot)) {
        const int its_time = root == kAnyRoot ? printed.chosen[column].time : printed.with_root[column];
        values[0] = its_time;
        if (root == kAnyRoot) values[1] = printed.chosen[column].root;
        values[2] = number_or_text(format, time - its_time, fmt::format("{:.12g}", time - its_time));
    }
    for (std::size_t i = 0; i < values.size(); ++i) row.emplace_back(names[i], values[i]);
}

void print(const Plan& plan) {
    output::Table table(std::cout, plan.format);
    InterruptibleProgress progress(plan.problems.size() * plan.roots.size() * plan.kinds.size());
    std::size_t done = 0;
    for (const Problem& problem : plan.problems) {
        TreeMaker maker({.sizes = problem.sizes, .arrivals = problem.arrivals}, problem.costs);
        const auto total = std::accumulate(problem.sizes.begin(), problem.sizes.end(), std::uint64_t{0});
        for (const int root : plan.roots)
            for (const TreeKind* kind : plan.kinds) {
                progress.update(done++, fmt::format("{}, {} tree", problem.name, kind->name));
                const TimedTree made = (maker.*kind->make)(root);
                const Shape shape = shape_of(made.tree, problem.sizes);
                const double over_bound = bound(problem, root) > 0 ? made.time / bound(problem, root) : 1;
                output::Row row = {{"sizes", problem.name},
                                   {"ranks", problem.sizes.size()},
                                   {"total", total},
                                   {"alpha", problem.costs.alpha},
                                   {"gamma", problem.costs.gamma},
                                   {"asked_root", root == kAnyRoot ? std::string(kBestRoot) : std::to_string(root)},
                                   {"tree", kind->name},
                                   {"time", number_or_text(plan.format, made.time, fmt::format("{:.12g}", made.time))},
                                   {"over_bound", number_or_text(plan.format, over_bound, fmt::format("{:.4g}", over_bound))},
                                   {"root", made.tree.root},
                                   {"depth", shape.depth},
                                   {"root_children", shape.root_children},
                                   {"most_children", shape.most_children},
                                   {"times_sent", number_or_text(plan.format, shape.sent, fmt::format("{:.3g}", shape.sent))}};
                if (problem.printed)
                    add_printed(row, *problem.printed, static_cast<std::size_t>(kind - kTreeKinds), root, made.time, plan.format);
                progress.erase();
                table.add(row);
                if (!plan.draw.empty())
                    draw_tree(plan.draw, made.tree, problem.sizes,
                              fmt::format("{} tree, {} ranks, sizes {}, root {}: {:.12g}", kind->name, problem.sizes.size(), problem.name,
                                          made.tree.root, made.time));
            }
    }
    table.finish();
}

}  // namespace
}  // namespace simulate_tree_command

void add_tree_command(usage::Command& simulate) {
    using namespace simulate_tree_command;
    usage::Command* const command =
        simulate.add_subcommand("tree", "Compute trees that gather or scatter blocks of different sizes: their times and shapes");
    const auto words = std::make_shared<Words>();
    command
        ->add_option("--sizes", words->sizes,
                     "Distributions of the sizes of blocks, separated by commas, or all; or the size of each block")
        ->type_name("NAMES|BYTES,...")
        ->default_str("spikes");
    command->add_option("-n,--ranks", words->ranks, "How many ranks")->type_name("N")->default_str("2000");
    command->add_option("--block,--bytes", words->block, fmt::format("Mean block sizes b of the distributions, {}", kSizeList))
        ->type_name("SIZES")
        ->default_str("1000");
    command->add_option("--rho", words->rho, "Parameter rho of spikes and skewed")->type_name("N")->capture_default_str();
    command->add_option("--seed", words->seed, "Seed of random, bucket and spikes; 1 gives the paper's numbers")
        ->type_name("S")
        ->capture_default_str();
    command->add_option("--alpha", words->alpha, "Cost of a message")->type_name("T")->default_str("100");
    command->add_option("--beta", words->beta, "Cost of a byte sent")->type_name("T")->capture_default_str();
    command->add_option("--gamma", words->gamma, "Cost of a byte copied, at most beta")->type_name("T")->default_str("1");
    command->add_option("--late", words->late, "Ranks arrive at random times from 0 to this (default: all at 0)")->type_name("T");
    command->add_option("--root", words->roots, "Roots: ranks, middle, or best, which is the best root for each tree")
        ->type_name("LIST")
        ->capture_default_str();
    command->add_option("--trees,--algorithm", words->trees, "Kinds of trees (see below); all leaves out unordered if there are many ranks")
        ->type_name("linear|binary|oblivious|adaptive|optimal|two_part|sorted|unordered|all,...")
        ->capture_default_str();
    command->add_option("--paper", words->paper, "Compute these tables of the paper, and print the paper's numbers beside them")
        ->type_name("table1|table2|table3|all,...");
    command->add_option("--draw", words->draw, "Draw the tree into this file, as SVG; allowed for a single tree")->type_name("FILE");
    output::add_format_option(*command, words->format);
    command->footer(R"(
The model is that of J. L. Traeff, "On Optimal Trees for Irregular Gather and Scatter Collectives" (2018). A message of
m bytes takes alpha + beta*m; an empty one is not sent and takes no time. A rank does one thing at a time. A rank that
collects copies its own block, which takes gamma*m.

  time        the time of the whole gather, in the unit of the costs
  over_bound  time / (alpha + beta * (all blocks but the root's) + gamma * (the root's block))
  times_sent  how many times a byte is sent, on average

  linear      all ranks send to the root
  binary      the best tree in which ranks have at most two children
  oblivious   a binomial tree, whatever the sizes are
  adaptive    a binomial tree in which the smaller part sends to the larger one
  optimal     the best ordered tree; in an ordered tree a rank sends the blocks of neighbours
  two_part    two adaptive trees at the same time, one of the small blocks and one of the large ones
  sorted      the best ordered tree, if the ranks are sorted by arrival and size
  unordered   the best of all trees
With --late, all trees but binary take the arrival times into account; linear still receives in the order of the ranks.

Distributions, with about n*b bytes in all: same, random, random_decreasing, random_increasing, bucket, spikes,
decreasing, increasing, alternating, skewed, two_blocks. To find its best root, oblivious tries rank 0, the last rank and
each 2^k - 1, as the paper does.)");
    command->callback([words] { print(plan_of(*words)); });
}

}  // namespace rollcall::bench
