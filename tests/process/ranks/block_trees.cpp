/// \file
/// A scenario of gathers and scatters over trees of segments. The messages that come to each rank are those of the tree that pure functions
/// make of the sizes.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/ranges.h>

#include "bootstrap/starters/embedded.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/segments/found_places.hpp"
#include "collectives/segments/told_places.hpp"
#include "collectives/segments/tree_costs.hpp"
#include "collectives/trees/adaptive.hpp"
#include "foundation/settings.hpp"
#include "runtime/messages/message.hpp"
#include "runtime/process.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

using collectives::BlockTree;
using runtime::OperationKind;
using Sizes = std::vector<std::uint64_t>;

/// A message with blocks, as it comes to a rank.
struct Came {
    int from;
    std::uint64_t step, bytes;
    bool operator==(const Came&) const = default;
    bool operator<(const Came& other) const { return std::tie(from, step, bytes) < std::tie(other.from, other.step, other.bytes); }
};

std::string in_words(const std::vector<Came>& messages) {
    std::string text;
    for (const Came& one : messages)
        text += fmt::format("{}{} bytes from rank {}{}", text.empty() ? "" : ", ", one.bytes, one.from,
                            one.step == collectives::kStraightBlock ? " (straight)" : "");
    return text.empty() ? "nothing" : text;
}

/// Stands between a transport and its engine, and notes the messages with blocks that come in.
class Observer final : public transport::Sink {
  public:
    explicit Observer(transport::Sink& engine) : engine_(engine) {}
    void on_message(std::span<const std::byte> header, transport::ConstBytes payload) noexcept override {
        note(header, payload.size);
        engine_.on_message(header, payload);
    }
    void on_offer(std::span<const std::byte> header, const transport::Offer& offer) noexcept override {
        note(header, offer.size);
        engine_.on_offer(header, offer);
    }
    void on_deaf(int peer) noexcept override { engine_.on_deaf(peer); }
    void on_peer_unreachable(int peer, std::string_view why) noexcept override { engine_.on_peer_unreachable(peer, why); }
    void on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept override { engine_.on_board_changed(offset, size); }
    std::vector<Came> take() { return std::exchange(came_, {}); }

  private:
    void note(std::span<const std::byte> header, std::uint64_t bytes) {
        runtime::CollectiveHeader read;
        if (header.size() != sizeof read) return;
        std::memcpy(&read, header.data(), sizeof read);
        const bool has_blocks = read.base.tag == collectives::kSegment || read.base.tag == collectives::kStraightBlock;
        if (read.base.kind == runtime::MessageKind::collective && has_blocks) came_.push_back({read.base.source, read.base.tag, bytes});
    }
    transport::Sink& engine_;
    std::vector<Came> came_;
};

/// A job of the same ranks, made for this scenario, whose messages are observed.
class ObservedJob {
  public:
    explicit ObservedJob(const Scene& scene)
        : process_(bootstrap::join_embedding({.rank = scene.rank,
                                              .size = scene.size,
                                              .unique_id = {},
                                              .allgather = [&](auto mine, auto all) { scene.world.allgather(mine, all); }}),
                   Settings::from_environment(), &collectives::algorithm_name, &collectives::part_alone),
          observer_(process_.engine()),
          state_(process_.world(), scene.rank) {
        process_.lane().as_owner([&](runtime::Engine& engine) {
            engine.add(state_);
            engine.transport().attach(observer_);
        });
    }
    ~ObservedJob() {
        process_.lane().as_owner([&](runtime::Engine& engine) {
            engine.transport().attach(engine);
            engine.remove(state_);
        });
    }
    ObservedJob(const ObservedJob&) = delete;
    ObservedJob& operator=(const ObservedJob&) = delete;

    /// Makes a call of blocks, and returns what has come to this rank.
    std::vector<Came> run(const collectives::AlgorithmEntry& entry, int root, const collectives::Buffers& buffers, const Sizes& sizes) {
        const bool is_root = state_.rank == root;
        const std::uint64_t own = sizes[static_cast<std::size_t>(state_.rank)];
        std::vector<runtime::Block> blocks;
        std::uint64_t end = 0;
        for (const std::uint64_t size : sizes) blocks.push_back({std::exchange(end, end + size), size});
        runtime::Call call = collectives::make_call(entry, root, is_root ? runtime::kManySizes : own, 0);
        call.own_sizes = true;
        runtime::Arguments arguments =
            collectives::arguments_of(collectives::operation(entry.operation), buffers, own, is_root ? end : 0, is_root);
        if (is_root) arguments.blocks = blocks.data();
        runtime::Operation operation(state_, state_.next_sequence.fetch_add(1), call, entry.algorithm, arguments);
        runtime::Lane& lane = process_.lane();
        if (!lane.run(operation, kPatience)) lane.abandon(operation, Error(ErrorCode::timeout, operation.describe() + " takes too long"));
        if (operation.error()) throw Error(*operation.error());
        std::vector<Came> came;
        lane.as_owner([&](runtime::Engine&) { came = observer_.take(); });
        std::sort(came.begin(), came.end());
        return came;
    }
    const Costs& costs() const { return *state_.group->costs; }
    void end() { process_.finalize(); }

  private:
    runtime::Process process_;
    Observer observer_;
    runtime::CommunicatorState state_;
};

struct Kind {
    std::string_view algorithm;
    BlockTree (*tree)(const Sizes& in_segments, const collectives::LinearCosts& costs, int root);
    bool has_straight_blocks;
};
constexpr std::array kKinds = {
    Kind{"adaptive", [](const Sizes& sizes, const auto&, int root) { return collectives::adaptive_tree(sizes, root); }, true},
    Kind{"optimal",
         [](const Sizes& sizes, const auto& costs, int root) { return collectives::best_segment_tree({.sizes = sizes}, costs, root).tree; },
         false},
    Kind{"sorted_optimal",
         [](const Sizes& sizes, const auto& costs, int root) { return collectives::best_sorted_tree({.sizes = sizes}, costs, root).tree; },
         false},
    Kind{"two_part",
         [](const Sizes& sizes, const auto& costs, int root) {
             return collectives::two_part_segment_tree({.sizes = sizes}, costs, root).tree;
         },
         false}};

Sizes random_sizes(std::mt19937_64& same, int ranks) {
    constexpr std::array<std::uint64_t, 4> kMost = {2, 1000, 20'000, 150'000};  // The last ones go straight by the built-in costs.
    const std::uint64_t most = kMost[same() % kMost.size()];
    const bool has_two_sizes = same() % 4 == 0;
    Sizes sizes(static_cast<std::size_t>(ranks));
    for (std::uint64_t& size : sizes) size = same() % 4 == 0 ? 0 : has_two_sizes ? (same() % 2 ? most : 7) : same() % (most + 1);
    return sizes;
}

/// What comes to this rank, by the tree.
std::vector<Came> expected(const Scene& scene, const Costs& costs, const Kind& kind, OperationKind operation, int root,
                           const Sizes& sizes) {
    const std::uint64_t straight_from = kind.has_straight_blocks ? collectives::straight_from(costs) : ~std::uint64_t{0};
    Sizes in_segments = sizes;
    for (std::uint64_t& size : in_segments)
        if (size >= straight_from) size = 0;
    const BlockTree tree = kind.tree(in_segments, collectives::tree_costs(costs), root);
    check(collectives::is_tree(tree) && tree.root == root, "that is no tree of rank {}", root);
    const Sizes segments = collectives::segment_sizes(tree, in_segments);
    std::vector<Came> messages;
    for (int rank = 0; rank < scene.size; ++rank) {
        if (rank == root) continue;
        const auto at = static_cast<std::size_t>(rank);
        const bool gathers = operation == OperationKind::gather;
        const int parent = tree.node(rank).parent;
        if (segments[at] > 0 && scene.rank == (gathers ? parent : rank))
            messages.push_back({gathers ? rank : parent, collectives::kSegment, segments[at]});
        if (sizes[at] >= straight_from && scene.rank == (gathers ? root : rank))
            messages.push_back({gathers ? rank : root, collectives::kStraightBlock, sizes[at]});
    }
    std::sort(messages.begin(), messages.end());
    return messages;
}

/// The blocks of these ranks, one behind the other.
std::vector<std::byte> blocks_of(const Sizes& sizes, int first, int last, std::uint64_t round) {
    std::vector<std::byte> blocks;
    for (int rank = first; rank <= last; ++rank) {
        const auto block = pattern(sizes[static_cast<std::size_t>(rank)], key(rank, round));
        blocks.insert(blocks.end(), block.begin(), block.end());
    }
    return blocks;
}

}  // namespace

// Words: the seed, and the number of calls. What comes to each rank is what the offline tree says, and the blocks are right.
ROLLCALL_SCENARIO(block_trees) {
    std::mt19937_64 same(static_cast<std::uint64_t>(scene.number(0, 1)));
    ObservedJob job(scene);
    for (int round = 0; round < scene.number(1, 100); ++round) {
        const Kind& kind = kKinds[static_cast<std::size_t>(round) % kKinds.size()];
        const OperationKind operation = same() % 2 ? OperationKind::gather : OperationKind::scatter;
        const int root = static_cast<int>(same() % static_cast<std::uint64_t>(scene.size));
        const Sizes sizes = random_sizes(same, scene.size);
        const std::string what = fmt::format("call {}, {} {} with root {} and blocks of {}", round, kind.algorithm,
                                             runtime::name(operation), root, fmt::join(sizes, " "));

        const bool is_root = scene.rank == root, gathers = operation == OperationKind::gather;
        const auto which = static_cast<std::uint64_t>(round);
        const auto right = blocks_of(sizes, scene.rank, scene.rank, which);
        const auto all_right = is_root ? blocks_of(sizes, 0, scene.size - 1, which) : std::vector<std::byte>();
        std::vector<std::byte> own(right.size()), all(all_right.size());
        (gathers ? own : all) = gathers ? right : all_right;

        scene.world.barrier();  // What comes from here on is of this call.
        const auto came = job.run(collectives::find_algorithm(operation, kind.algorithm), root,
                                  {.contribution = own.data(), .data = all.data(), .result = own.data()}, sizes);
        const auto by_tree = expected(scene, job.costs(), kind, operation, root, sizes);
        check(came == by_tree, "{}: got {}, but the tree says {}", what, in_words(came), in_words(by_tree));
        check(own == right && all == all_right, "{}: the blocks are wrong", what);
    }
    job.end();
}

}  // namespace rollcall::test
