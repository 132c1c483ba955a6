#include "bench/operands.hpp"

#include <fmt/format.h>

#include "bench/payload.hpp"

namespace rollcall::bench {

using runtime::OperationKind;

namespace {
std::uint64_t block_key(std::uint64_t key, int rank) { return key_of({key, static_cast<std::uint64_t>(rank)}); }
}  // namespace

std::uint64_t call_bytes(OperationKind operation, std::uint64_t bytes, int ranks) {
    if (operation == OperationKind::broadcast) return bytes;
    return bytes / static_cast<std::uint64_t>(ranks) / kElement * kElement;
}

runtime::Arguments phantom(OperationKind operation, std::uint64_t call_bytes, int ranks, bool is_root) {
    runtime::Arguments arguments;
    const std::uint64_t all = is_root ? call_bytes * static_cast<std::uint64_t>(ranks) : 0;
    arguments.data = {nullptr, operation == OperationKind::broadcast ? call_bytes : all};
    if (operation == OperationKind::scatter) arguments.result = {nullptr, call_bytes};
    if (operation == OperationKind::gather) arguments.contribution = {nullptr, call_bytes};
    return arguments;
}

Operands::Operands(const Communicator& world, OperationKind operation, std::uint64_t bytes, int root)
    : world_(world), operation_(operation), bytes_(bytes), root_(root) {
    if (operation == OperationKind::broadcast) {
        data_.resize(bytes);
    } else {
        block_.resize(bytes);
        if (is_root()) data_.resize(bytes * static_cast<std::uint64_t>(world.size()));
    }
}

std::span<std::byte> Operands::part(int rank) { return std::span(data_).subspan(static_cast<std::uint64_t>(rank) * bytes_, bytes_); }

void Operands::prepare(std::uint64_t key) {
    if (operation_ == OperationKind::broadcast) return is_root() ? fill(data_, key) : poison(data_, key);
    const bool scatters = operation_ == OperationKind::scatter;
    (scatters ? poison : fill)(block_, block_key(key, world_.rank()));
    if (is_root())
        for (int rank = 0; rank < world_.size(); ++rank) (scatters ? fill : poison)(part(rank), block_key(key, rank));
}

void Operands::call(const CollectiveOptions& options) {
    if (operation_ == OperationKind::broadcast)
        world_.broadcast(data_.data(), bytes_, root_, options);
    else if (operation_ == OperationKind::scatter)
        world_.scatter(data_.data(), block_.data(), bytes_, root_, options);
    else
        world_.gather(block_.data(), data_.data(), bytes_, root_, options);
}

Plan Operands::plan(const PlanOptions& options) {
    return operation_ == OperationKind::scatter ? world_.plan_scatter(data_.data(), block_.data(), bytes_, root_, options)
                                                : world_.plan_gather(block_.data(), data_.data(), bytes_, root_, options);
}

std::string Operands::explain(const CollectiveOptions& options) const {
    if (operation_ == OperationKind::broadcast) return world_.explain_broadcast(bytes_, options);
    return operation_ == OperationKind::scatter ? world_.explain_scatter(bytes_, options) : world_.explain_gather(bytes_, options);
}

std::string Operands::describe(const std::string& algorithm) const {
    return fmt::format("{} {} of {} bytes {} rank {}", runtime::name(operation_), algorithm, bytes_,
                       operation_ == OperationKind::gather ? "to" : "from", root_);
}

std::optional<std::string> Operands::find_wrong(std::uint64_t key) const {
    const auto sentence = [&](std::uint64_t byte, std::string_view of, int sender) {
        return fmt::format("byte {}{} on rank {} is not what rank {} sent", byte, of, world_.rank(), sender);
    };
    if (operation_ != OperationKind::gather) {
        const auto wrong = operation_ == OperationKind::broadcast ? bench::find_wrong(data_, key)
                                                                  : bench::find_wrong(block_, block_key(key, world_.rank()));
        if (wrong) return sentence(*wrong, "", root_);
    } else if (is_root()) {
        for (int rank = 0; rank < world_.size(); ++rank) {
            const auto block = std::span(data_).subspan(static_cast<std::uint64_t>(rank) * bytes_, bytes_);
            if (const auto wrong = bench::find_wrong(block, block_key(key, rank)))
                return sentence(*wrong, fmt::format(" of block {}", rank), rank);
        }
    }
    return std::nullopt;
}

void Operands::spoil() {
    std::vector<std::byte>& received = operation_ == OperationKind::scatter ? block_ : data_;
    if (!received.empty()) received[received.size() / 2] ^= std::byte{1};
}

}  // namespace rollcall::bench
