#include "runtime/messages/peers.hpp"

#include <algorithm>
#include <tuple>
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

void Peers::excuse(int peer) {
    excused_.insert(peer);
    if (first_gone_ != peer) return;
    first_gone_ = -1;
    const Trouble* first = nullptr;
    for (const auto& [other, trouble] : troubles_) {
        if (trouble.standing == Standing::suspected || is_excused(other) || trouble.what.empty()) continue;
        if (first && std::tie(first->since, first->number) <= std::tie(trouble.since, trouble.number)) continue;
        first = &trouble;
        first_gone_ = other;
    }
}

int Peers::any_trouble() const {
    if (first_gone_ >= 0) return first_gone_;
    const auto found = std::ranges::find_if(troubles_, [&](const auto& one) { return !is_excused(one.first); });
    return found == troubles_.end() ? -1 : found->first;
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
    Trouble& trouble = troubles_[peer];
    trouble.standing = Standing::dead;
    trouble.since = now;
    trouble.what = std::move(what);
    trouble.heard_until = until;
    trouble.number = ++deaths_;
    ++dead_;
    if (first_gone_ < 0 && !is_excused(peer)) first_gone_ = peer;
}

void Peers::stop_waiting(int peer, Transfer& transfer) { std::erase(troubles_.at(peer).undecided, &transfer); }

std::optional<std::vector<Transfer*>> Peers::declare_gone(int peer, std::string what) {
    Trouble& trouble = troubles_[peer];
    if (trouble.standing == Standing::gone) return std::nullopt;
    if (trouble.standing == Standing::dead) --dead_;
    trouble.standing = Standing::gone;
    trouble.what = std::move(what);
    ++gone_;
    if (first_gone_ < 0 && !trouble.what.empty() && !is_excused(peer)) first_gone_ = peer;
    return std::exchange(trouble.undecided, {});
}

std::vector<Peers::Ending> Peers::endings(Nanoseconds grace) const {
    std::vector<Ending> all;
    for (const auto& [peer, trouble] : troubles_)
        if (trouble.standing != Standing::gone)
            all.push_back({trouble.standing == Standing::dead ? trouble.heard_until : trouble.since + grace, &trouble, peer});
    std::sort(all.begin(), all.end(), [](const Ending& one, const Ending& other) {
        return std::tie(one.trouble->since, one.trouble->number) < std::tie(other.trouble->since, other.trouble->number);
    });
    Nanoseconds of_earlier = 0;
    for (Ending& ending : all)
        if (ending.trouble->standing == Standing::dead) of_earlier = ending.at = std::max(ending.at, of_earlier);
    return all;
}

std::vector<int> Peers::suspected_for(Nanoseconds grace, Nanoseconds now) const {
    std::vector<int> long_enough;
    for (const Ending& ending : endings(grace))
        if (now >= ending.at) long_enough.push_back(ending.peer);
    return long_enough;
}

Nanoseconds Peers::next_suspicion_over(Nanoseconds grace) const {
    Nanoseconds next = kNever;
    for (const Ending& ending : endings(grace)) next = std::min(next, ending.at);
    return next;
}

}  // namespace rollcall::runtime
