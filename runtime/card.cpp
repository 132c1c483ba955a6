#include "runtime/card.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/error.hpp>

namespace rollcall::runtime {
namespace {

// Must be increased with every change of the layout that follows it.
constexpr std::uint32_t kCardVersion = 9;

class Writer {
  public:
    template <class T>
    void number(T value) {
        static_assert(std::is_arithmetic_v<T>);
        raw(&value, sizeof value);
    }
    void bytes(const void* data, std::size_t size) {
        number(static_cast<std::uint32_t>(size));
        raw(data, size);
    }
    std::vector<std::byte> take() { return std::move(written_); }

  private:
    void raw(const void* data, std::size_t size) {
        const auto* from = static_cast<const std::byte*>(data);
        written_.insert(written_.end(), from, from + size);
    }
    std::vector<std::byte> written_;
};

// Reads a card piece by piece. Once a piece is missing, every later piece is empty, and ended() returns false.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> rest) : rest_(rest) {}
    template <class T>
    T number() {
        T value{};
        if (const auto from = raw(sizeof value); !from.empty()) std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    std::span<const std::byte> bytes() { return raw(number<std::uint32_t>()); }
    std::string_view text() {
        const auto from = bytes();
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    bool ended() const { return whole_ && rest_.empty(); }
    bool whole() const { return whole_; }

  private:
    std::span<const std::byte> raw(std::size_t size) {
        whole_ = whole_ && size <= rest_.size();
        if (!whole_) return {};
        const auto piece = rest_.first(size);
        rest_ = rest_.subspan(size);
        return piece;
    }
    std::span<const std::byte> rest_;
    bool whole_ = true;
};

std::string names_of(const Card& card) {
    std::vector<std::string_view> names;
    for (const Card::Address& address : card.addresses) names.push_back(address.transport);
    return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace

std::vector<std::byte> write_card(const Card& card) {
    Writer writer;
    writer.number(kCardVersion);
    writer.number(card.clock);
    writer.number(card.allowance);
    writer.number(std::uint8_t{card.accepts_eager_data});
    writer.bytes(card.host.data(), card.host.size());
    writer.bytes(card.cpus.data(), card.cpus.size());
    writer.number(card.node.domain);
    writer.number(card.node.process);
    writer.number(card.node.file);
    writer.number(card.node.slots);
    writer.number(card.node.large_blocks);
    writer.number(card.node.longest_file);
    writer.number(card.memory.domain);
    writer.number(card.memory.process);
    writer.number(card.memory.witness);
    writer.number(card.memory.cookie);
    writer.bytes(card.lifeline.data(), card.lifeline.size());
    writer.bytes(card.costs.data(), card.costs.size());
    writer.number(static_cast<std::uint32_t>(card.addresses.size()));
    for (const Card::Address& address : card.addresses) {
        writer.bytes(address.transport.data(), address.transport.size());
        writer.number(address.version);
        writer.bytes(address.bytes.data(), address.bytes.size());
    }
    return writer.take();
}

std::optional<Card> read_card(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    if (reader.number<std::uint32_t>() != kCardVersion) return std::nullopt;
    Card card;
    card.clock = reader.number<std::uint64_t>();
    card.allowance = reader.number<std::uint32_t>();
    card.accepts_eager_data = reader.number<std::uint8_t>() != 0;
    card.host = reader.text();
    card.cpus = reader.text();
    card.node.domain = reader.number<std::uint64_t>();
    card.node.process = reader.number<std::int32_t>();
    card.node.file = reader.number<std::int32_t>();
    card.node.slots = reader.number<std::uint64_t>();
    card.node.large_blocks = reader.number<std::uint32_t>();
    card.node.longest_file = reader.number<std::uint64_t>();
    card.memory.domain = reader.number<std::uint64_t>();
    card.memory.process = reader.number<std::int32_t>();
    card.memory.witness = reader.number<std::uint64_t>();
    card.memory.cookie = reader.number<std::uint64_t>();
    card.lifeline = reader.bytes();
    card.costs = reader.bytes();
    for (std::uint32_t left = reader.number<std::uint32_t>(); left > 0 && reader.whole(); --left) {
        Card::Address& address = card.addresses.emplace_back();
        address.transport = reader.text();
        address.version = reader.number<std::uint32_t>();
        address.bytes = reader.bytes();
    }
    if (!reader.ended()) return std::nullopt;
    return card;
}

void check_transports(const Card& mine, int my_rank, const Card& its, int its_rank) {
    const auto same_name = [](const Card::Address& one, const Card::Address& other) { return one.transport == other.transport; };
    if (!std::ranges::equal(mine.addresses, its.addresses, same_name))
        throw Error(
            ErrorCode::bootstrap,
            fmt::format("rank {} on host {} was started with the transport {}, and rank {} on host {} with {}: set ROLLCALL_TRANSPORT "
                        "to the same for all ranks of a job",
                        its_rank, its.host, names_of(its), my_rank, mine.host, names_of(mine)),
            its_rank);
    for (std::size_t i = 0; i < mine.addresses.size(); ++i) {
        const Card::Address &here = mine.addresses[i], &there = its.addresses[i];
        if (here.version == there.version) continue;
        throw Error(
            ErrorCode::bootstrap,
            fmt::format("rank {} on host {} has version {} of the transport {}, and rank {} on host {} version {}: build all programs of a "
                        "job against the same version of Rollcall",
                        its_rank, its.host, there.version, there.transport, my_rank, mine.host, here.version),
            its_rank);
    }
}

}  // namespace rollcall::runtime
