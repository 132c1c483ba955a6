#include "collectives/schedules/predicted_end.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace rollcall::collectives {
namespace {

constexpr Nanoseconds kNotSent = -1;

/// Which one of several ranks that go on at the same time goes first, and gets a port that they share.
enum class Ties : std::uint8_t { lowest_first, highest_first };

struct Action {
    std::size_t message;
    bool is_send;
};

struct Rank {
    std::vector<Action> actions;  ///< In their order.
    std::size_t next = 0;         ///< The next one of them.
    Nanoseconds sends_until = 0, receives_until = 0;
    Nanoseconds sent = 0;   ///< When the sends of the last round with sends are over.
    int round = -1;         ///< That round.
    Nanoseconds until = 0;  ///< When the sends of the rounds before it were over.
    bool waits = false;     ///< For a message that was not sent yet.
};

class Prediction {
  public:
    Prediction(std::span<const ChunkMessage> messages, std::span<const Nanoseconds> arrivals, Nanoseconds message_time, Ties ties)
        : messages_(messages), message_time_(message_time), ties_(ties), ranks_(arrivals.size()), ends_(messages.size(), kNotSent) {
        std::vector<std::size_t> order(messages.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto place = [&](std::size_t message) { return std::tuple(messages[message].round, messages[message].chunk); };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) { return place(one) < place(other); });
        // In each round the sends come first.
        for (auto next = order.begin(); next != order.end();) {
            const auto first = next;
            for (; next != order.end() && messages[*next].round == messages[*first].round; ++next)
                at(messages[*next].sender).actions.push_back({*next, true});
            for (auto each = first; each != next; ++each) at(messages[*each].receiver).actions.push_back({*each, false});
        }
        for (std::size_t rank = 0; rank < arrivals.size(); ++rank) wake(static_cast<int>(rank), arrivals[rank]);
    }

    Nanoseconds run() {
        while (!woken_.empty()) {
            const auto [now, place] = woken_.top();
            woken_.pop();
            go_on(place < 0 ? -place : place, now);
        }
        return end_;
    }

  private:
    Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
    void wake(int rank, Nanoseconds when) { woken_.emplace(when, ties_ == Ties::lowest_first ? rank : -rank); }

    void go_on(int number, Nanoseconds now) {
        Rank& rank = at(number);
        for (; rank.next < rank.actions.size(); ++rank.next) {
            const auto [message, is_send] = rank.actions[rank.next];
            const Nanoseconds until = is_send ? may_send(rank, messages_[message].round) : ends_[message];
            rank.waits = until == kNotSent;
            if (rank.waits) return;  // its sender wakes this rank
            if (until > now) return wake(number, until);
            if (is_send) send(rank, message, now);
        }
        end_ = std::max({end_, now, rank.sent});
    }

    /// When a send of this round may begin.
    static Nanoseconds may_send(Rank& rank, int round) {
        if (std::exchange(rank.round, round) != round) rank.until = rank.sent;
        return rank.until;
    }

    void send(Rank& rank, std::size_t message, Nanoseconds now) {
        Rank& to = at(messages_[message].receiver);
        const Nanoseconds end = std::max({now, rank.sends_until, to.receives_until}) + message_time_;
        rank.sends_until = to.receives_until = ends_[message] = end;
        rank.sent = std::max(rank.sent, end);
        if (to.waits && to.actions[to.next].message == message) {
            to.waits = false;
            wake(messages_[message].receiver, end);
        }
    }

    std::span<const ChunkMessage> messages_;
    Nanoseconds message_time_, end_ = 0;
    Ties ties_;
    std::vector<Rank> ranks_;
    std::vector<Nanoseconds> ends_;             ///< By message: when it has come.
    using Woken = std::pair<Nanoseconds, int>;  ///< The rank, or its negative.
    std::priority_queue<Woken, std::vector<Woken>, std::greater<>> woken_;
};

}  // namespace

Nanoseconds predicted_end(std::span<const ChunkMessage> messages, std::span<const Nanoseconds> arrivals, Nanoseconds message_time) {
    return std::max(Prediction(messages, arrivals, message_time, Ties::lowest_first).run(),
                    Prediction(messages, arrivals, message_time, Ties::highest_first).run());
}

}  // namespace rollcall::collectives
