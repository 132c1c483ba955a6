#include "bench/ranks/operands.hpp"

#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "bench/cases/payload.hpp"

namespace rollcall::bench {

using collectives::Extent;
using collectives::kSlots;
using collectives::Operand;
using collectives::Slot;
using collectives::Who;

namespace {

/// The element `i` that a rank contributes to a sum. It is a small integer, so that no sum is rounded.
float summand(std::uint64_t key, std::uint64_t i, int rank) {
    return static_cast<float>(key_of({key, i}) % 1024 + static_cast<std::uint64_t>(rank));
}

/// The size of the block that one rank has for another one, if blocks have sizes of their own. Each rank has the same sizes in another
/// order.
std::uint64_t size_between(const std::vector<std::uint64_t>& sizes, int from, int to) {
    return sizes[(static_cast<std::size_t>(from) + static_cast<std::size_t>(to)) % sizes.size()];
}

std::uint64_t key_of_piece(std::uint64_t key, int rank) { return key_of({key, static_cast<std::uint64_t>(rank)}); }

}  // namespace

std::uint64_t call_bytes(runtime::OperationKind operation, std::uint64_t bytes, int ranks) {
    const collectives::OperationRow& row = collectives::operation(operation);
    if (row.combines && !row.in_blocks) return bytes / kElement * kElement;
    if (!row.in_blocks) return bytes;
    return bytes / static_cast<std::uint64_t>(ranks) / kElement * kElement;
}

Operands::Operands(const Communicator& world, runtime::OperationKind operation, std::uint64_t bytes, int root)
    : world_(world), row_(collectives::operation(operation)), bytes_(bytes), root_(root) {
    for (const Slot slot : kSlots)
        if (row_.operand(slot).is_had(is_root())) buffer(slot).resize(part_of(row_.operand(slot), bytes, world.size(), world.rank()).size);
}

Operands::Operands(const Communicator& world, runtime::OperationKind operation, std::vector<std::uint64_t> sizes, int root)
    : world_(world), row_(collectives::operation(operation)), bytes_(kOwnSizes), sizes_(std::move(sizes)), root_(root) {
    const std::uint64_t own = sizes_[static_cast<std::size_t>(world.rank())],
                        all = std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0});
    for (const Slot slot : kSlots)
        if (const Operand& operand = row_.operand(slot); operand.is_had(is_root()))
            buffer(slot).resize(operand.extent == Extent::blocks ? all : own);
}

collectives::Buffers Operands::buffers() {
    return {.contribution = buffer(Slot::contribution).data(), .data = buffer(Slot::data).data(), .result = buffer(Slot::result).data()};
}

CollectiveOfBlocks Operands::collective_of_blocks() {
    if (row_.personal) {
        // The block from rank s to rank r has the same size as the block from r to s.
        between_.clear();
        for (int rank = 0; rank < world_.size(); ++rank) between_.push_back(size_between(sizes_, world_.rank(), rank));
        return {world_, row_.kind, buffers(), Blocks(between_), Blocks(between_)};
    }
    if (!row_.has_root) return {world_, row_.kind, buffers(), Blocks(sizes_), sizes_[static_cast<std::size_t>(world_.rank())], -1};
    return {world_, row_.kind, buffers(), is_root() ? Blocks(sizes_) : Blocks(), sizes_[static_cast<std::size_t>(world_.rank())], root_};
}

Collective Operands::collective() {
    if (row_.combines) return {world_, row_.kind, buffers(), bytes_ / kElement, reduction_of<float>(sum), root_};
    return {world_, row_.kind, buffers(), bytes_, root_};
}

std::vector<Operands::Piece> Operands::pieces(Slot slot) {
    const Operand& operand = row_.operand(slot);
    if (!operand.is_had(is_root())) return {};
    const std::span<std::byte> all(buffer(slot));
    if (operand.extent != Extent::blocks) {
        const int rank = operand.extent == Extent::block ? world_.rank() : root_;
        return {{rank, rank, all}};
    }
    std::vector<Piece> blocks;
    std::uint64_t offset = 0;
    for (int rank = 0; rank < world_.size(); ++rank) {
        const std::uint64_t size = sizes_.empty()  ? bytes_
                                   : row_.personal ? size_between(sizes_, world_.rank(), rank)
                                                   : sizes_[static_cast<std::size_t>(rank)];
        const bool is_sent = slot == Slot::contribution;
        const int number = !row_.personal ? rank : is_sent ? world_.rank() * world_.size() + rank : rank * world_.size() + world_.rank();
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
    for (std::uint64_t i = 0; i < own.size() / kElement; ++i) {
        const float element = summand(key, i, world_.rank());
        std::memcpy(own.data() + i * kElement, &element, kElement);
    }
}

std::string Operands::describe(const std::string& algorithm) const {
    const bool to_root = row_.any_operand([](const Operand& operand) { return operand.writes == Who::root; });
    return fmt::format("{} {} of {}{}", runtime::name(row_.kind), algorithm,
                       sizes_.empty() ? fmt::format("{} bytes", bytes_) : "blocks of different sizes",
                       row_.has_root ? fmt::format(" {} rank {}", to_root ? "to" : "from", root_) : "");
}

std::optional<std::string> Operands::find_wrong_sum(std::uint64_t key) {
    if (!row_.data.is_had(is_root())) return std::nullopt;
    const auto n = static_cast<float>(row_.combined_ranks(world_.size(), world_.rank()));
    if (n == 0) return std::nullopt;
    const std::uint64_t first = part_of(row_.data, bytes_, world_.size(), world_.rank()).offset / kElement;
    for (std::uint64_t i = 0; i < bytes_ / kElement; ++i) {
        float element;
        std::memcpy(&element, buffer(Slot::data).data() + i * kElement, kElement);
        if (element != n * summand(key, first + i, 0) + n * (n - 1) / 2)
            return fmt::format("element {} on rank {} is not the sum of what {} ranks brought", i, world_.rank(), n);
    }
    return std::nullopt;
}

std::optional<std::string> Operands::find_wrong(std::uint64_t key) {
    if (row_.combines) return find_wrong_sum(key);
    for (const Slot slot : kSlots) {
        const Operand& operand = row_.operand(slot);
        if (!operand.is_written(is_root())) continue;
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
