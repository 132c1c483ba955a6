#include "collectives/arrivals/roster.hpp"

namespace rollcall::collectives {

using runtime::kUnknownTime;
using runtime::Operation;
using runtime::Pending;
using runtime::Task;

namespace {

std::vector<int> all_after(int root, int size) {
    std::vector<int> ranks;
    for (int i = 1; i < size; ++i) ranks.push_back(static_cast<int>((static_cast<long long>(root) + i) % size));
    return ranks;
}

}  // namespace

Roster::Roster(int size, int root, Arrived order) : Roster(size, root, all_after(root, size), order) {}

Roster::Roster(int size, int root, std::span<const int> served, Arrived order)
    : size_(size),
      root_(root),
      order_(order),
      place_of_(static_cast<std::size_t>(size), remaining_.end()),
      has_arrived_(static_cast<std::size_t>(size)),
      unknown_(static_cast<int>(served.size())) {
    for (const int rank : served)
        place_of_[static_cast<std::size_t>(rank)] = remaining_.emplace_hint(remaining_.end(), Knowledge::unknown, distance(rank), rank);
}

Nanoseconds Roster::distance(int rank) const { return (static_cast<Nanoseconds>(rank) - root_ + size_) % size_; }

void Roster::move(int rank, Knowledge knowledge, Nanoseconds order) {
    auto& place = place_of_[static_cast<std::size_t>(rank)];
    if (place == remaining_.end()) return;
    unknown_ += (knowledge == Knowledge::unknown) - (std::get<Knowledge>(*place) == Knowledge::unknown);
    remaining_.erase(place);
    place = remaining_.emplace(knowledge, order, rank).first;
}

void Roster::arrived(int rank) {
    has_arrived_[static_cast<std::size_t>(rank)] = true;
    move(rank, Knowledge::arrived, order_ == Arrived::by_rank ? distance(rank) : arrivals_++);
}

void Roster::predicted(int rank, Nanoseconds when) {
    if (has_arrived(rank)) return;
    if (when == kUnknownTime)
        move(rank, Knowledge::unknown, distance(rank));
    else
        move(rank, Knowledge::predicted, when);
}

void Roster::update(runtime::Arrivals& arrivals) {
    if (arrivals.any_prediction())
        for (const auto& [rank, when] : arrivals.take_predictions()) predicted(rank, when);
    if (arrivals.any())
        for (const int rank : arrivals.take()) arrived(rank);
}

int Roster::take() {
    const auto [knowledge, order, rank] = *remaining_.begin();
    unknown_ -= knowledge == Knowledge::unknown;
    place_of_[static_cast<std::size_t>(rank)] = remaining_.end();
    remaining_.erase(remaining_.begin());
    return rank;
}

Task announce_to(Operation& op, int to, const Pending* unless) {
    const auto enough = [&] { return unless && unless->done(); };
    for (Nanoseconds told = kUnknownTime; !enough() && !op.has_arrived();) {
        if (op.predicted_arrival() != told) {
            told = op.predicted_arrival();
            op.announce_prediction(to);
        }
        co_await op.until([&] { return enough() || op.has_arrived() || op.predicted_arrival() != told; });
    }
    if (!enough()) op.announce_arrival(to);
}

Task serve_as_they_arrive(Operation& op, Roster& roster, const std::function<transport::ConstBytes(int rank)>& message) {
    runtime::Arrivals& arrivals = op.arrivals();
    co_await op.arrival();
    Pending ahead;  // one message at a time
    while (!roster.empty()) {
        // While a block sent ahead moves, no other rank is served: both blocks would leave through the same port.
        co_await op.until([&] {
            roster.update(arrivals);
            return ahead.done() || (ahead.deferred() && roster.someone_waits());
        });
        const bool waits = roster.someone_waits();
        const int rank = roster.take();
        if (waits)
            co_await op.send(rank, message(rank), 0);
        else
            ahead = op.send_ahead(rank, message(rank), 0);
    }
    co_await ahead;
}

Task serve_as_they_arrive(Operation& op, BlockFor block, Arrived order) {
    Roster roster(op.size(), op.rank(), order);
    const std::function<transport::ConstBytes(int)> message = [&](int rank) { return block(op, rank); };
    co_await serve_as_they_arrive(op, roster, message);
}

}  // namespace rollcall::collectives
