#include "bench/ranks/operands.hpp"

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "bench/cases/payload.hpp"
#include "bench/cases/summands.hpp"

namespace rollcall::bench {

using collectives::Extent;
using collectives::kSlots;
using collectives::Operand;
using collectives::RankSet;
using collectives::Slot;

namespace {

/// The size of the block that one rank has for another one, if blocks have sizes of their own. Each rank has the same sizes in another
/// order.
std::uint64_t size_between(const std::vector<std::uint64_t>& sizes, int from, int to) {
    return sizes[(static_cast<std::size_t>(from) + static_cast<std::size_t>(to)) % sizes.size()];
}

std::uint64_t key_of_piece(std::uint64_t key, std::uint64_t number) { return key_of({key, number}); }

detail::IntergroupOperation operation_between(runtime::OperationKind kind) {
    using detail::IntergroupOperation;
    using runtime::OperationKind;
    switch (kind) {
        case OperationKind::intergroup_broadcast: return IntergroupOperation::broadcast;
        case OperationKind::intergroup_scatter: return IntergroupOperation::scatter;
        case OperationKind::intergroup_gather: return IntergroupOperation::gather;
        case OperationKind::intergroup_reduce: return IntergroupOperation::reduce;
        case OperationKind::intergroup_allreduce: return IntergroupOperation::allreduce;
        case OperationKind::intergroup_alltoall: return IntergroupOperation::alltoall;
        default: return IntergroupOperation::allgather;
    }
}

}  // namespace

std::uint64_t call_bytes(runtime::OperationKind operation, std::uint64_t bytes, int ranks) {
    const collectives::OperationRow& row = collectives::operation(operation);
    if (row.combines && !row.in_blocks) return bytes / kElement * kElement;
    if (!row.in_blocks || runtime::is_between_groups(operation)) return bytes;
    return bytes / static_cast<std::uint64_t>(ranks) / kElement * kElement;
}

std::vector<std::uint64_t> call_sizes(runtime::OperationKind operation, SizeDistribution distribution, std::uint64_t bytes, int ranks) {
    return sizes_together(distribution, ranks, runtime::is_between_groups(operation) ? bytes * static_cast<std::uint64_t>(ranks) : bytes);
}

Intercommunicator divided(const Communicator& world, int in_first) {
    std::vector<int> first(static_cast<std::size_t>(in_first)), second(static_cast<std::size_t>(world.size() - in_first));
    std::iota(first.begin(), first.end(), 0);
    std::iota(second.begin(), second.end(), in_first);
    return world.create_intercommunicator(first, second);
}

bool is_spoiler(int rank) {
    const char* const text = std::getenv("ROLLCALL_TEST_CORRUPT");
    return text != nullptr && std::atoi(text) == rank;
}

Operands::Operands(const Communicator& world, runtime::OperationKind operation, std::uint64_t bytes, int root,
                   const Intercommunicator* between)
    : world_(world), row_(collectives::operation(operation)), bytes_(bytes), root_(root), between_(between), partners_(world.size()) {
    if (between_) look_across();
    for (const Slot slot : kSlots)
        if (has(row_.operand(slot))) buffer(slot).resize(part_of(row_.operand(slot), bytes, partners_, world.rank()).size);
}

Operands::Operands(const Communicator& world, runtime::OperationKind operation, std::vector<std::uint64_t> sizes, int root,
                   const Intercommunicator* between)
    : world_(world),
      row_(collectives::operation(operation)),
      bytes_(kOwnSizes),
      sizes_(std::move(sizes)),
      root_(root),
      between_(between),
      partners_(world.size()) {
    if (between_) look_across();
    for (int partner = 0; partner < partners_; ++partner) {
        const int rank = first_partner_ + partner;
        // The block from rank s to rank r has the same size as the block from r to s.
        blocks_.push_back(row_.personalized ? size_between(sizes_, world.rank(), rank) : sizes_[static_cast<std::size_t>(rank)]);
    }
    const std::uint64_t own = sizes_[static_cast<std::size_t>(world.rank())],
                        all = std::accumulate(blocks_.begin(), blocks_.end(), std::uint64_t{0});
    for (const Slot slot : kSlots)
        if (const Operand& operand = row_.operand(slot); has(operand)) buffer(slot).resize(operand.extent == Extent::blocks ? all : own);
}

void Operands::look_across() {
    first_partner_ = between_->remote_world_rank(0);
    partners_ = between_->remote_size();
    has_part_ = !row_.has_root || is_root() || is_partner(root_);
}

collectives::Buffers Operands::buffers() {
    return {.contribution = buffer(Slot::contribution).data(), .data = buffer(Slot::data).data(), .result = buffer(Slot::result).data()};
}

void Operands::call(const CollectiveOptions& options) {
    if (between_) return between_groups().call(options);
    sizes_.empty() ? collective().call(options) : collective_of_blocks().call(options);
}

Plan Operands::plan(const PlanOptions& options) {
    if (between_) return between_groups().plan(options);
    return sizes_.empty() ? collective().plan(options) : collective_of_blocks().plan(options);
}

detail::IntergroupForms Operands::between_groups() {
    detail::IntergroupCall what{.operation = operation_between(row_.kind)};
    if (row_.has_root) {
        for (const Slot slot : kSlots) {
            if (!has(row_.operand(slot))) continue;
            what.own = what.other = buffer(slot).data();
            what.own_bytes = what.other_bytes = buffer(slot).size();
        }
        const int own_first = first_partner_ > 0 ? 0 : partners_;
        what.root = is_partner(root_) ? IntergroupRoot(Theirs{root_ - first_partner_}) : IntergroupRoot(Mine{root_ - own_first});
    } else {
        const std::vector<std::byte>& own = buffer(Slot::contribution);
        std::vector<std::byte>& all = buffer(Slot::data);
        what.own = own.data();
        what.own_bytes = own.size();
        what.other = all.data();
        what.other_bytes = all.size();
    }
    if (row_.combines) {
        what.reduction = reduction_of<float>(sum);
        what.element_bytes = kElement;
    }
    if (!sizes_.empty()) what.blocks = row_.has_root && !is_root() ? Blocks() : Blocks(blocks_);
    if (!sizes_.empty() && row_.personalized) what.to_send = Blocks(blocks_);
    return {*between_, what};
}

CollectiveOfBlocks Operands::collective_of_blocks() {
    if (row_.personalized) return {world_, row_.kind, buffers(), Blocks(blocks_), Blocks(blocks_)};
    if (!row_.has_root) return {world_, row_.kind, buffers(), Blocks(sizes_), sizes_[static_cast<std::size_t>(world_.rank())], -1};
    return {world_, row_.kind, buffers(), is_root() ? Blocks(sizes_) : Blocks(), sizes_[static_cast<std::size_t>(world_.rank())], root_};
}

Collective Operands::collective() {
    if (row_.combines) return {world_, row_.kind, buffers(), bytes_ / kElement, reduction_of<float>(sum), root_};
    return {world_, row_.kind, buffers(), bytes_, root_};
}

std::vector<Operands::Piece> Operands::pieces(Slot slot) {
    const Operand& operand = row_.operand(slot);
    if (!has(operand)) return {};
    const std::span<std::byte> all(buffer(slot));
    if (operand.extent != Extent::blocks) {
        const int rank = operand.extent == Extent::block ? world_.rank() : root_;
        return {{rank, static_cast<std::uint64_t>(rank), all}};
    }
    std::vector<Piece> blocks;
    const auto all_ranks = static_cast<std::uint64_t>(world_.size()), own = static_cast<std::uint64_t>(world_.rank());
    std::uint64_t offset = 0;
    for (int partner = 0; partner < partners_; ++partner) {
        const int rank = first_partner_ + partner;
        const auto other = static_cast<std::uint64_t>(rank);
        const std::uint64_t size = sizes_.empty() ? bytes_ : blocks_[static_cast<std::size_t>(partner)];
        const bool is_sent = slot == Slot::contribution;
        const std::uint64_t number = !row_.personalized ? other : is_sent ? own * all_ranks + other : other * all_ranks + own;
        blocks.push_back({rank, number, all.subspan(offset, size)});
        offset += size;
    }
    return blocks;
}

void Operands::prepare(std::uint64_t key) {
    for (const Slot slot : kSlots)
        for (const Piece& piece : pieces(slot))
            (row_.operand(slot).is_written(is_root()) ? poison : fill)(piece.bytes, key_of_piece(key, piece.number));
    if (!row_.combines) return;
    std::vector<std::byte>& own = buffer(Slot::contribution);
    const Summands summands(world_.size());
    for (std::uint64_t i = 0; i < own.size() / kElement; ++i) {
        const float element = summands.of(key, i, world_.rank());
        std::memcpy(own.data() + i * kElement, &element, kElement);
    }
}

std::string Operands::describe(const std::string& algorithm) const {
    const bool to_root = row_.any_operand([](const Operand& operand) { return operand.writes == RankSet::root; });
    return fmt::format("{} {} of {}{}", runtime::name(row_.kind), algorithm,
                       sizes_.empty() ? fmt::format("{} bytes", bytes_) : "blocks of different sizes",
                       row_.has_root ? fmt::format(" {} rank {}", to_root ? "to" : "from", root_) : "");
}

std::optional<std::string> Operands::find_wrong_sum(std::uint64_t key) {
    if (!has(row_.data)) return std::nullopt;
    const int n = row_.combined_ranks(partners_, world_.rank());
    if (n == 0) return std::nullopt;
    const Summands summands(world_.size());
    const std::uint64_t first = part_of(row_.data, bytes_, world_.size(), world_.rank()).offset / kElement;
    for (std::uint64_t i = 0; i < bytes_ / kElement; ++i) {
        float element;
        std::memcpy(&element, buffer(Slot::data).data() + i * kElement, kElement);
        if (element != summands.sum(key, first + i, first_partner_, n))
            return fmt::format("element {} on rank {} is not the sum of what {} ranks brought", i, world_.rank(), n);
    }
    return std::nullopt;
}

std::optional<std::string> Operands::find_wrong(std::uint64_t key) {
    if (row_.combines) return find_wrong_sum(key);
    for (const Slot slot : kSlots) {
        const Operand& operand = row_.operand(slot);
        if (!has(operand) || !operand.is_written(is_root())) continue;
        const bool blocks = operand.extent == Extent::blocks;
        for (const Piece& piece : pieces(slot))
            if (const auto wrong = bench::find_wrong(piece.bytes, key_of_piece(key, piece.number)))
                return fmt::format("byte {}{} on rank {} is not what rank {} sent", *wrong,
                                   blocks ? fmt::format(" of block {}", piece.rank) : "", world_.rank(), blocks ? piece.rank : root_);
    }
    return std::nullopt;
}

void Operands::spoil() {
    for (const Slot slot : kSlots)
        if (std::vector<std::byte>& received = buffer(slot); row_.operand(slot).is_written(is_root()) && !received.empty())
            received[received.size() / 2] ^= std::byte{1};
}

}  // namespace rollcall::bench
