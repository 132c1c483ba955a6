#include "runtime/lane/peers.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::runtime {
namespace {

// 256 KiB hold three full eager messages of the longest default length, which keeps a stream going while credits travel back. 4 KiB is the
// least, so that messages without data always get through.
constexpr std::uint32_t kMostAllowance = 256 * 1024;
constexpr std::uint32_t kLeastAllowance = 4 * 1024;
// Half of the landing budget may go to eager allowances. The other half is for large early messages.
constexpr std::uint64_t kEagerShare = 2;

}  // namespace

std::uint32_t allowance_for(std::uint64_t landing_bytes, int size) {
    const std::uint64_t peers = static_cast<std::uint64_t>(std::max(1, size - 1));
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(landing_bytes / kEagerShare / peers, kLeastAllowance, kMostAllowance));
}

std::uint64_t landing_budget_for(std::uint64_t landing_bytes, int size) {
    const std::uint64_t reserved = std::uint64_t{allowance_for(landing_bytes, size)} * static_cast<std::uint64_t>(std::max(0, size - 1));
    return landing_bytes - std::min(reserved, landing_bytes / kEagerShare);
}

bool Peers::suspect(int peer, std::string what, Nanoseconds now) {
    const auto [found, is_new] = troubles_.try_emplace(peer);
    if (!is_new) return false;
    found->second.since = now;
    found->second.what = std::move(what);
    return true;
}

void Peers::explain(int peer, std::string what) {
    Trouble& trouble = troubles_.at(peer);
    if (trouble.standing == Standing::suspected) trouble.what = std::move(what);
}

void Peers::hear_out(int peer, std::string what, Nanoseconds now, Nanoseconds until) {
    if (!suspect(peer, std::move(what), now)) return;
    Trouble& trouble = troubles_.at(peer);
    trouble.standing = Standing::dead;
    trouble.heard_until = until;
    ++dead_;
    if (first_gone_ < 0) first_gone_ = peer;
}

void Peers::stop_waiting(int peer, Transfer& transfer) { std::erase(troubles_.at(peer).undecided, &transfer); }

std::optional<std::vector<Transfer*>> Peers::bury(int peer, std::string what) {
    Trouble& trouble = troubles_[peer];
    if (trouble.standing == Standing::gone) return std::nullopt;
    if (trouble.standing == Standing::dead) --dead_;
    trouble.standing = Standing::gone;
    trouble.what = std::move(what);
    ++gone_;
    if (first_gone_ < 0 && !trouble.what.empty()) first_gone_ = peer;
    return std::exchange(trouble.undecided, {});
}

std::vector<int> Peers::suspected_for(Nanoseconds grace, Nanoseconds now) const {
    std::vector<int> long_enough;
    for (const auto& [peer, trouble] : troubles_)
        if (trouble.standing != Standing::gone && now >= end_of(trouble, grace)) long_enough.push_back(peer);
    std::sort(long_enough.begin(), long_enough.end(),
              [&](int one, int other) { return troubles_.at(one).since < troubles_.at(other).since; });
    return long_enough;
}

Nanoseconds Peers::next_suspicion_over(Nanoseconds grace) const {
    Nanoseconds next = kNever;
    for (const auto& [peer, trouble] : troubles_)
        if (trouble.standing != Standing::gone) next = std::min(next, end_of(trouble, grace));
    return next;
}

}  // namespace rollcall::runtime
