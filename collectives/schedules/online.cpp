// A variant of Clairvoyant (see clairvoyant.cpp) that needs no prediction. The rule is the same, but instead of rounds there are events.
//
// For each segment, it is counted how many processes could send it now. A few words of bits then tell which segments a process may receive.
// These are its own segments that at least two processes offer. If the process does not offer the segment itself, because it is sending,
// one process is enough. The sink also takes segments that it does not have and that one process offers.
//
// Example: two segments, root 0. 1 and 2 arrive: 2 -0-> 1, because 1 is the sink, and 1 -1-> 2. Both end. Then 0 arrives: 1 -0-> 0, and 0
// -1-> 2. Both end: 2 -1-> 0, which replaces what 0 has sent.
#include "collectives/schedules/online.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include <rollcall/error.hpp>

namespace rollcall::collectives {

OnlineReduction::OnlineReduction(int processes, int segments, int root) : segments_(segments), root_(root), words_(0) {
    if (processes < 1 || segments < 1 || root < 0 || root >= processes)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("reduction of {} segments of {} processes to {}; allowed: 1 of both at least, and one of the processes",
                                segments, processes, root));
    const auto P = static_cast<std::size_t>(processes), N = static_cast<std::size_t>(segments);
    words_ = (N + 63) / 64;
    processes_.assign(P, {.incoming = {}, .held = segments});
    unsent_.assign(P * words_, ~std::uint64_t{0});
    if (N % 64)
        for (std::size_t p = 0; p < P; ++p) unsent_[p * words_ + words_ - 1] = (std::uint64_t{1} << (N % 64)) - 1;
    offers_.assign(N, 0);
    offered_.assign(words_, 0);
    offered_twice_.assign(words_, 0);
    merged_.assign(N, 0);
}

void OnlineReduction::offer(int segment, int change) {
    const int count = offers_[static_cast<std::size_t>(segment)] += change;
    const auto word = static_cast<std::size_t>(segment) / 64;
    const std::uint64_t bit = std::uint64_t{1} << (segment % 64);
    offered_[word] = count > 0 ? offered_[word] | bit : offered_[word] & ~bit;
    offered_twice_[word] = count > 1 ? offered_twice_[word] | bit : offered_twice_[word] & ~bit;
}

void OnlineReduction::offer_all(int number, int change) {
    for (std::size_t word = 0; word < words_; ++word)
        for (std::uint64_t bits = unsent(number)[word]; bits; bits &= bits - 1)
            offer(static_cast<int>(64 * word) + std::countr_zero(bits), change);
}

void OnlineReduction::arrived(int number) {
    if (number < 0 || number >= static_cast<int>(processes_.size()) || process(number).arrived)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("arrival of process {}; allowed: each of 0 to {} once", number, processes_.size() - 1));
    process(number).arrived = true;
    order_.insert(number == root_ ? order_.begin() : order_.end(), number);
    offer_all(number, 1);
    if (processes_.size() == 1) ended_at_root_ = segments_;
}

int OnlineReduction::find_segment(int receiver, bool is_sink) {
    const std::uint64_t* const own = unsent(receiver);
    const bool offers = !process(receiver).sending;
    for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t bits = offers ? (own[word] & offered_twice_[word]) | (~own[word] & offered_[word]) : offered_[word];
        if (!is_sink) bits &= own[word];
        if (bits) return static_cast<int>(64 * word) + std::countr_zero(bits);
    }
    return -1;
}

std::vector<OnlineReduction::Transfer> OnlineReduction::begin() {
    // The root is never removed: it may send its last segment away while all others are busy sending, and gets it back later.
    std::erase_if(order_, [&](int number) { return number != root_ && process(number).held == 0; });
    std::vector<Transfer> begun;
    for (const int receiver : order_) {
        Process& to = process(receiver);
        if (to.incoming) continue;
        const int segment = find_segment(receiver, receiver == order_.front());
        if (segment < 0) continue;
        const int sender = *std::find_if(order_.begin(), order_.end(), [&](int number) {
            return number != receiver && !process(number).sending && has(number, segment);
        });
        Process& from = process(sender);
        const std::uint64_t bit = std::uint64_t{1} << (segment % 64);
        const bool replace = !has(receiver, segment);
        if (replace) {
            ++to.held;
        } else {
            unsent(receiver)[segment / 64] &= ~bit;
            if (!to.sending) offer(segment, -1);
        }
        offer_all(sender, -1);
        unsent(sender)[segment / 64] &= ~bit;
        --from.held;
        from.sending = true;
        to.incoming = begun.emplace_back(Transfer{sender, receiver, segment, replace});
    }
    return begun;
}

void OnlineReduction::ended(const Transfer& transfer) {
    const auto [sender, receiver, segment, replace] = transfer;
    const int last = static_cast<int>(processes_.size()) - 1;
    if (receiver < 0 || receiver > last || process(receiver).incoming != transfer)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the end of the transfer of segment {} from {} to {}; allowed: of one that begin() returned, once", segment,
                                sender, receiver));
    process(sender).sending = false;
    offer_all(sender, 1);
    process(receiver).incoming.reset();
    unsent(receiver)[segment / 64] |= std::uint64_t{1} << (segment % 64);
    if (!process(receiver).sending) offer(segment, 1);
    int& merged = merged_[static_cast<std::size_t>(segment)];
    if (!replace) ++merged;
    if (receiver == root_ && merged == last) ++ended_at_root_;
}

}  // namespace rollcall::collectives
