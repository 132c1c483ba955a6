#include "collectives/schedules/spreading.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace rollcall::collectives {

namespace {

std::uint64_t& word_of(std::vector<std::uint64_t>& bits, int process) { return bits[static_cast<std::size_t>(process) / 64]; }
std::uint64_t bit_of(int process) { return std::uint64_t{1} << (process % 64); }

void append(std::vector<int>& processes, std::size_t word, std::uint64_t bits) {
    for (; bits; bits &= bits - 1) processes.push_back(static_cast<int>(word) * 64 + std::countr_zero(bits));
}

}  // namespace

Spreading::Spreading(int processes, int chunks)
    : processes_(static_cast<std::size_t>(processes)),
      completed_in_(static_cast<std::size_t>(chunks), -1),
      holders_(static_cast<std::size_t>(chunks), 0),
      has_(static_cast<std::size_t>(chunks), Bits((processes_.size() + 63) / 64, 0)) {
    free_all();
}

void Spreading::free_all() {
    Bits all((processes_.size() + 63) / 64, ~std::uint64_t{0});
    if (processes_.size() % 64) all.back() = (std::uint64_t{1} << (processes_.size() % 64)) - 1;
    free_to_send_ = free_to_receive_ = all;
    free_senders_ = free_receivers_ = processes_.size();
}

void Spreading::sends(int process) {
    word_of(free_to_send_, process) &= ~bit_of(process);
    --free_senders_;
}

void Spreading::receives(int process) {
    word_of(free_to_receive_, process) &= ~bit_of(process);
    --free_receivers_;
}

int Spreading::neediest(const std::vector<bool>& left_out) const {
    int best = -1, newest = 0;
    for (std::size_t p = 0; p < processes_.size(); ++p) {
        const Process& process = processes_[p];
        if (left_out[p] || !(free_to_receive_[p / 64] >> (p % 64) & 1) || (best >= 0 && process.newest >= newest)) continue;
        best = static_cast<int>(p);
        newest = process.newest;
    }
    return best;
}

std::vector<Spreading::Message> Spreading::end_round() {
    std::vector<Message> messages;
    const auto place = [&](int chunk) {
        const auto number = static_cast<std::size_t>(chunk);
        return std::tuple(holders_[number], -completed_in_[number]);
    };
    std::stable_sort(spreading_.begin(), spreading_.end(), [&](int one, int other) { return place(one) < place(other); });
    for (auto chunk = spreading_.begin(); chunk != spreading_.end() && free_senders_ > 0 && free_receivers_ > 0; ++chunk)
        spread(*chunk, messages);
    for (const Message& message : messages) get(message.receiver, message.chunk);
    for (const auto& [process, chunk] : completed_) {
        const auto number = static_cast<std::size_t>(chunk);
        if (holders_[number] == 0) {
            spreading_.push_back(chunk);
            completed_in_[number] = round_;
        }
        get(process, chunk);
    }
    completed_.clear();
    std::erase_if(spreading_, [&](int chunk) { return holders_[static_cast<std::size_t>(chunk)] == static_cast<int>(processes_.size()); });
    free_all();
    ++round_;
    return messages;
}

void Spreading::spread(int chunk, std::vector<Message>& messages) {
    std::vector<int> senders, receivers;
    const Bits& has = has_[static_cast<std::size_t>(chunk)];
    for (std::size_t word = 0; word < has.size(); ++word) append(senders, word, has[word] & free_to_send_[word]);
    if (senders.empty()) return;
    for (std::size_t word = 0; word < has.size(); ++word) append(receivers, word, ~has[word] & free_to_receive_[word]);
    std::stable_sort(receivers.begin(), receivers.end(), [&](int one, int other) {
        return std::tuple(at(one).newest, !at(one).is_preferred) < std::tuple(at(other).newest, !at(other).is_preferred);
    });
    for (std::size_t k = 0; k < std::min(senders.size(), receivers.size()); ++k) {
        sends(senders[k]);
        receives(receivers[k]);
        messages.push_back({senders[k], receivers[k], chunk});
    }
}

void Spreading::get(int process, int chunk) {
    const auto number = static_cast<std::size_t>(chunk);
    word_of(has_[number], process) |= bit_of(process);
    at(process).newest = std::max(at(process).newest, completed_in_[number]);
    ++holders_[number];
}

}  // namespace rollcall::collectives
