#include "tests/process/ranks/random/random_calls.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "api/collective.hpp"
#include "collectives/catalogue.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::test {
namespace {

using collectives::Extent;
using collectives::Operand;
using collectives::OperationRow;
using collectives::Slot;

constexpr std::size_t kGuardBytes = 32;
constexpr std::uint64_t kMostPieces = 500;

// A piece of node memory does not hold a whole number of these elements.
struct DrawnTriple {
    std::uint64_t a, b, c;
};
struct AddDrawnTriples {
    DrawnTriple operator()(const DrawnTriple& x, const DrawnTriple& y) const noexcept { return {x.a + y.a, x.b + y.b, x.c + y.c}; }
};

}  // namespace
}  // namespace rollcall::test

template <>
inline constexpr bool rollcall::commutes<rollcall::test::AddDrawnTriples> = true;

namespace rollcall::test {
namespace {

// A reduction, and the same for all elements of two ranks without Rollcall.
struct DrawnReduction {
    const char* name;
    Reduction reduction;
    void (*fold)(std::byte* left, const std::byte* right, std::uint64_t bytes);
};
template <class T, class Plain>
DrawnReduction drawn_reduction(const char* name, const auto& function, Plain) {
    return {name, reduction_of<T>(function), [](std::byte* left, const std::byte* right, std::uint64_t bytes) {
                for (std::uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
                    T one, other;
                    std::memcpy(&one, left + at, sizeof(T));
                    std::memcpy(&other, right + at, sizeof(T));
                    one = Plain()(one, other);
                    std::memcpy(left + at, &one, sizeof(T));
                }
            }};
}
const std::vector<DrawnReduction>& drawn_reductions() {
    static const std::vector<DrawnReduction> all = {
        drawn_reduction<std::uint64_t>("sum", sum, [](std::uint64_t x, std::uint64_t y) { return x + y; }),
        drawn_reduction<std::int32_t>("maximum", maximum, [](std::int32_t x, std::int32_t y) { return std::max(x, y); }),
        drawn_reduction<std::uint8_t>("xor", bitwise_xor, [](std::uint8_t x, std::uint8_t y) { return static_cast<std::uint8_t>(x ^ y); }),
        drawn_reduction<std::uint16_t>("sum by rank", by_rank(sum),
                                       [](std::uint16_t x, std::uint16_t y) { return static_cast<std::uint16_t>(x + y); }),
        drawn_reduction<DrawnAffine>("composition", kComposeDrawn, kComposeDrawn),
        drawn_reduction<DrawnTriple>("sum of triples", AddDrawnTriples(), AddDrawnTriples())};
    return all;
}

void put(Bytes& into, std::uint64_t offset, const Bytes& piece) {
    std::copy(piece.begin(), piece.end(), into.begin() + static_cast<std::ptrdiff_t>(offset));
}

// The place of each block in a buffer. With `has_gaps` they are in a drawn order, with unused bytes between them.
struct DrawnLayout {
    DrawnLayout() = default;
    DrawnLayout(Random& same, std::vector<std::uint64_t> its_counts, bool has_gaps)
        : counts(std::move(its_counts)), offsets(counts.size()) {
        std::vector<std::size_t> order(counts.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (has_gaps) std::shuffle(order.begin(), order.end(), same);
        for (const std::size_t rank : order) {
            offsets[rank] = end + (has_gaps ? same() % 9 : 0);
            end = offsets[rank] + counts[rank];
        }
    }
    std::vector<std::uint64_t> counts, offsets;
    std::uint64_t end = 0;
};

// The model of one call on one communicator: how much goes from where to where.
struct Model {
    const OperationRow& row;
    int ranks, rank, root;
    bool has_own_sizes = false, in_place = false;
    const DrawnReduction* reduction = nullptr;
    std::uint64_t bytes = 0;        // Of the message or of a block, if there are no own sizes.
    DrawnLayout out = {}, in = {};  // The blocks that this rank has: those that it sends, and those that it receives.
    std::uint64_t own_bytes = 0;    // The size of its one block.

    bool is_root() const { return rank == root; }
    const Operand& operand(std::size_t slot) const { return row.operand(collectives::kSlots[slot]); }
    bool has(std::size_t slot) const { return operand(slot).is_had(is_root()); }
    const DrawnLayout& layout(std::size_t slot) const { return slot == 0 || operand(slot).is_read(is_root()) ? out : in; }
    std::uint64_t size(std::size_t slot) const {
        if (operand(slot).extent == Extent::message) return bytes;
        return operand(slot).extent == Extent::block ? own_bytes : layout(slot).end;
    }
    // What rank `from` has for rank `to`. Where all ranks get the same, `to` does not count.
    Bytes piece(int from, int to, std::uint64_t length, std::uint64_t round) const {
        return pattern(length,
                       key(from, round) + (row.personalized || (row.combines && row.in_blocks) ? static_cast<std::uint64_t>(to) * 977 : 0));
    }
    Bytes contents(std::size_t slot, std::uint64_t round) const {
        const Operand& what = operand(slot);
        if (row.combines && what.is_read(is_root())) {
            if (!row.in_blocks) return piece(rank, 0, bytes, round);
            Bytes all(bytes * static_cast<std::uint64_t>(ranks));
            for (int to = 0; to < ranks; ++to) put(all, bytes * static_cast<std::uint64_t>(to), piece(rank, to, bytes, round));
            return all;
        }
        if (row.combines) {
            const int combined = row.combined_ranks(ranks, rank);
            if (combined == 0) return in_place ? piece(rank, 0, bytes, round) : Bytes(bytes, kUnwritten);
            Bytes result = piece(0, rank, bytes, round);
            for (int from = 1; from < combined; ++from) reduction->fold(result.data(), piece(from, rank, bytes, round).data(), bytes);
            return result;
        }
        if (what.extent == Extent::message) return piece(root, 0, bytes, round);
        // In a scatter the block of each rank is known by its receiver, in all other operations by its sender.
        if (what.extent == Extent::block) return piece(rank, 0, own_bytes, round);
        const DrawnLayout& blocks = layout(slot);
        Bytes all(blocks.end, kUnwritten);
        for (int peer = 0; peer < ranks; ++peer) {
            const auto at = static_cast<std::size_t>(peer);
            const bool sends = row.personalized && slot == 0;
            put(all, blocks.offsets[at], piece(sends ? rank : peer, sends ? peer : rank, blocks.counts[at], round));
        }
        return all;
    }
    // Where the own block, or what is combined, stands among the results. -1: there is no such place.
    int stands_in(std::size_t slot) const {
        if (!in_place || !has(slot)) return -1;
        if (row.combines) return row.in_blocks ? (slot == 1 && has(0) ? 0 : -1) : (slot == 0 && has(1) ? 1 : -1);
        if (operand(slot).extent != Extent::block) return -1;
        return has(1) && operand(1).extent == Extent::blocks ? 1 : -1;
    }
    std::uint64_t own_offset(std::size_t among) const {
        if (row.combines) return row.in_blocks ? bytes * static_cast<std::uint64_t>(rank) : 0;
        return layout(among).offsets[static_cast<std::size_t>(rank)];
    }
};

void fill_buffers(DrawnCall& call, const Model& model, std::uint64_t round) {
    for (std::size_t slot = 0; slot < 3; ++slot) {
        if (!model.has(slot) || model.stands_in(slot) >= 0) continue;
        Bytes after = model.contents(slot, round);
        Bytes before = model.operand(slot).is_read(model.is_root()) ? after : Bytes(after.size(), kUnwritten);
        for (std::size_t other = 0; other < 3; ++other) {
            if (model.stands_in(other) != static_cast<int>(slot)) continue;
            if (model.operand(other).is_read(model.is_root())) put(before, model.own_offset(slot), model.contents(other, round));
            if (model.operand(other).is_written(model.is_root())) put(after, model.own_offset(slot), model.contents(other, round));
        }
        call.buffers[slot].fill(before, std::move(after));
    }
}

std::string draw_algorithm(Place& place, const Model& model, bool is_planned, Random& same) {
    const int reduction = model.reduction ? static_cast<int>(model.reduction - drawn_reductions().data()) : -1;
    // Elements of some sizes suit some algorithms only if they fit one piece of node memory.
    const std::uint64_t blocks = model.row.in_blocks ? static_cast<std::uint64_t>(model.ranks) : 1;
    const bool is_one_piece = model.bytes * blocks <= runtime::kPieceOfNode;
    const auto number = same();
    auto [found, is_new] = place.algorithms.try_emplace({model.row.kind, model.has_own_sizes, is_planned, reduction, is_one_piece});
    if (is_new)
        for (const std::string_view name : collectives::algorithm_names(model.row, collectives::kReal)) try {
                const CollectiveOptions options{.algorithm = name, .segment_bytes = {}, .timeout = {}};
                const std::uint64_t bytes = model.has_own_sizes ? kOwnSizes : 8;
                if (model.reduction) {
                    const Reduction& combined = model.reduction->reduction;
                    Collective(place.communicator, model.row.kind, {}, model.bytes / combined.element_bytes, combined, 0)
                        .explain(options, is_planned);
                } else {
                    Collective(place.communicator, model.row.kind, {}, bytes, 0).explain(options, is_planned);
                }
                found->second.emplace_back(name);
            } catch (const Error&) {
            }
    if (number % 3 == 0 || found->second.empty()) return {};
    return found->second[number / 3 % found->second.size()];
}

std::uint64_t own_size(Random& same, std::uint64_t most) { return same() % 4 == 0 ? 0 : same() % (most + 1); }

}  // namespace

void DrawnBuffer::place(std::uint64_t bytes, Memory memory) {
    bytes_ = bytes;
    memory_ = std::move(memory);
    if (memory_.size() == 0) own_.resize(kGuardBytes + bytes + kGuardBytes);
    begin_ = (memory_.size() > 0 ? static_cast<std::byte*>(memory_.data()) : own_.data()) + kGuardBytes;
}
void DrawnBuffer::fill(const Bytes& before, Bytes after) {
    check(before.size() == bytes_ && after.size() == bytes_, "a buffer of {} bytes gets {}", bytes_, before.size());
    std::fill_n(begin_ - kGuardBytes, kGuardBytes, kUnwritten);
    std::copy(before.begin(), before.end(), begin_);
    std::fill_n(begin_ + bytes_, kGuardBytes, kUnwritten);
    after_ = std::move(after);
}
void DrawnBuffer::check_guards(const std::string& what) const {
    if (!begin_) return;
    const auto is_guard = [](const std::byte* first) {
        return std::all_of(first, first + kGuardBytes, [](std::byte b) { return b == kUnwritten; });
    };
    check(is_guard(begin_ - kGuardBytes) && is_guard(begin_ + bytes_), "{}: it wrote outside of a buffer", what);
}
void DrawnBuffer::check_after(const std::string& what) const {
    check_guards(what);
    if (!begin_) return;
    if (bytes_ == 0 || std::memcmp(begin_, after_.data(), bytes_) == 0) return;
    const auto at = std::mismatch(after_.begin(), after_.end(), begin_).first - after_.begin();
    throw Wrong(fmt::format("{}: byte {} of {} is {:#x}, not {:#x}", what, at, bytes_, static_cast<int>(begin_[at]),
                            static_cast<int>(after_[static_cast<std::size_t>(at)])));
}

std::uint64_t draw_size(Random& same) {
    const std::uint64_t kind = same() % 100, size = same();
    return kind < 55 ? size % 65 : kind < 82 ? size % 20'000 : kind < 98 ? size % 300'000 : size % 3'000'000;
}

std::unique_ptr<DrawnCall> draw_call(Job& job, Place& place, const OperationRow& row, Form form, Random& same, Random& own) {
    const Communicator communicator = place.communicator;
    const auto ranks = static_cast<std::uint64_t>(communicator.size());
    auto model = std::make_shared<Model>(
        Model{.row = row, .ranks = communicator.size(), .rank = communicator.rank(), .root = static_cast<int>(same() % ranks)});
    const auto mine = static_cast<std::size_t>(model->rank);
    std::uint64_t size = draw_size(same);
    if (row.in_blocks && size > 20'000) size /= ranks;
    model->in_place = same() % 3 == 0 && row.moves_data && !row.personalized && (row.combines || row.in_blocks);
    model->has_own_sizes = same() % 2 == 0 && row.has_own_sizes;
    if (row.combines) model->reduction = &drawn_reductions()[same() % drawn_reductions().size()];
    const std::uint64_t element = row.combines ? model->reduction->reduction.element_bytes : 1;
    model->bytes = model->own_bytes = row.moves_data ? size / element * element : 0;
    if (model->has_own_sizes) {
        // For each pair of ranks, or for each rank.
        std::vector<std::uint64_t> sizes(row.personalized ? ranks * ranks : ranks);
        for (std::uint64_t& one : sizes) one = own_size(same, size);
        const bool has_gaps = same() % 2 == 0;
        std::vector<std::uint64_t> sent = sizes, received = sizes;
        if (row.personalized) {
            sent.assign(sizes.begin() + static_cast<std::ptrdiff_t>(mine * ranks),
                        sizes.begin() + static_cast<std::ptrdiff_t>((mine + 1) * ranks));
            received.clear();
            for (std::uint64_t from = 0; from < ranks; ++from) received.push_back(sizes[from * ranks + mine]);
        }
        model->own_bytes = sent[mine];
        Random gaps(same());
        model->out = DrawnLayout(gaps, sent, has_gaps);
        model->in = DrawnLayout(gaps, received, has_gaps);
    } else {
        model->out = model->in = DrawnLayout(same, std::vector<std::uint64_t>(ranks, model->bytes), false);
    }
    const std::string algorithm = draw_algorithm(place, *model, form == Form::plan, same);
    std::optional<std::uint64_t> segment;
    if (const std::uint64_t drawn = same() % 8; drawn < 4) segment = std::array<std::uint64_t, 4>{0, 64, 1000, 65'536}[drawn];
    // Without landing, each piece is asked for. On a busy machine ten thousand pieces would take minutes.
    if (segment && *segment) segment = std::max(*segment, size / kMostPieces);
    const CollectiveOptions options{.algorithm = {}, .segment_bytes = segment, .timeout = {}, .until_delivered = own() % 4 == 0};

    auto call = std::make_unique<DrawnCall>();
    static constexpr const char* kForms[] = {"called", "started", "planned"};
    call->what =
        fmt::format("{}{} of {} bytes{}{}, {} by {} on {}, rank {} of {}, root {}", name(row.kind),
                    model->has_own_sizes ? " of own sizes" : "", model->has_own_sizes ? size : model->bytes,
                    row.combines ? fmt::format(" ({})", model->reduction->name) : "", model->in_place ? " in place" : "",
                    kForms[static_cast<int>(form)], algorithm.empty() ? "auto" : algorithm, place.name, model->rank, ranks, model->root);
    std::array<std::byte*, 3> at{};
    for (std::size_t slot = 0; slot < 3; ++slot) {
        if (!model->has(slot) || model->stands_in(slot) >= 0) continue;
        const std::uint64_t bytes = model->size(slot);
        call->buffers[slot].place(bytes, own() % 4 == 0 ? job.allocate(bytes + 2 * kGuardBytes) : Memory());
        at[slot] = call->buffers[slot].data();
    }
    for (std::size_t slot = 0; slot < 3; ++slot)
        if (const int other = model->stands_in(slot); other >= 0)
            at[slot] = at[static_cast<std::size_t>(other)] + model->own_offset(static_cast<std::size_t>(other));
    DrawnCall& made = *call;
    call->fill = [&made, model](std::uint64_t round) { fill_buffers(made, *model, round); };

    // Runs `use` with the call as the interface makes it.
    const auto with = [=](const auto& use) {
        const collectives::Buffers buffers{.contribution = at[0], .data = at[1], .result = at[2]};
        if (!model->has_own_sizes) {
            if (row.combines)
                return use(Collective(communicator, row.kind, buffers, model->bytes / element, model->reduction->reduction, model->root));
            return use(Collective(communicator, row.kind, buffers, model->bytes, model->root));
        }
        const Blocks sent(model->out.counts, model->out.offsets), received(model->in.counts, model->in.offsets);
        if (row.personalized) return use(CollectiveOfBlocks(communicator, row.kind, buffers, sent, received));
        if (!row.has_root && model->in_place) return use(CollectiveOfBlocks(communicator, row.kind, at[1], received));
        const Blocks blocks = row.has_root && !model->is_root() ? Blocks() : received;
        return use(CollectiveOfBlocks(communicator, row.kind, buffers,
                                      row.kind == runtime::OperationKind::scatter && model->is_root() ? sent : blocks, model->own_bytes,
                                      model->root));
    };
    const auto chosen = [options, algorithm] {
        CollectiveOptions all = options;
        all.algorithm = algorithm;
        return all;
    };
    if (form == Form::call) call->call = [=] { with([&](const auto& collective) { collective.call(chosen()); }); };
    if (form == Form::start) call->start = [=] { return with([&](const auto& collective) { return collective.start(chosen()); }); };
    const auto predictor = static_cast<Predictor>(own() % 4);
    if (form == Form::plan)
        call->plan = [=] {
            const PlanOptions planned{.algorithm = algorithm, .segment_bytes = segment, .timeout = {}, .predictor = predictor};
            return with([&](const auto& collective) { return collective.plan(planned); });
        };
    return call;
}

}  // namespace rollcall::test
