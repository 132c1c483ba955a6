#include "bootstrap/rendezvous/assembly.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::bootstrap {
namespace {

/// How many missing ranks are named one by one.
constexpr std::size_t kNamedRanks = 8;

}  // namespace

std::optional<Error> Assembly::arrive(int node, const std::string& host, int rank, int size) {
    const auto wrong = [&](const std::string& what) {
        return Error(ErrorCode::bootstrap, fmt::format("the job cannot start: {}; check what the starter tells its processes", what));
    };
    if (size < 1 || rank < 0 || rank >= size)
        return wrong(fmt::format("a process on host {} was told to be rank {} of {}", host, rank, size));
    if (size_ == 0) size_ = size;
    if (size != size_) {
        return wrong(fmt::format("rank {} on host {} was told that there are {} ranks, and {} that there are {}", rank, host, size,
                                 first_ < 0 ? std::string("the root") : fmt::format("rank {}", first_), size_));
    }
    const auto [seat, free] = seats_.try_emplace(rank, Seat{node, host});
    if (!free) {
        return wrong(
            fmt::format("two processes were told to be rank {}, one on host {} and one on host {}", rank, seat->second.host, host));
    }
    if (first_ < 0) first_ = rank;
    return std::nullopt;
}

std::map<int, std::vector<int>> Assembly::nodes() const {
    std::map<int, std::vector<int>> nodes;
    for (const auto& [rank, seat] : seats_) nodes[seat.node].push_back(rank);
    return nodes;
}

std::string Assembly::missing() const {
    std::vector<int> named;
    std::size_t others = 0;
    for (int rank = 0; rank < size_; ++rank) {
        if (seats_.contains(rank)) continue;
        if (named.size() < kNamedRanks) {
            named.push_back(rank);
        } else {
            ++others;
        }
    }
    std::string text = fmt::format("{} {}", named.size() + others == 1 ? "rank" : "ranks", fmt::join(named, ", "));
    if (others > 0) text += fmt::format(" and {} others", others);
    return text;
}

}  // namespace rollcall::bootstrap
