#include "collectives/allgather/dissemination.hpp"

#include <array>
#include <utility>

namespace rollcall::collectives {

Dissemination::Dissemination(Operation& op, int next, int previous, int own, int count)
    : op_(op), next_(next), previous_(previous), own_(own), count_(count), receives_(op) {}

// The neighbours are ranks of the communicator, also where an Among lives.
Pending Dissemination::pass_on(int number, transport::ConstBytes block) {
    const std::array neighbours = {op_.communicator().rank, next_};
    using Among = runtime::Operation::Among;
    const Among ring(op_, neighbours, 0, 0, op_.arguments(), 0, Among::Counted::in_communicator);
    return op_.send(1, block, static_cast<std::uint64_t>(number));
}

Task pass_on_until_buffers(Operation& op, Dissemination& ring) {
    while (!op.has_buffers()) {
        runtime::Landed block;
        co_await op.until([&] { return (block = op.take_landed(ring.previous_)) || op.has_buffers(); });
        if (!block) continue;
        const int number = static_cast<int>(block.step());
        ring.kept_.push_back({std::move(block), {}, {}});
        auto& kept = ring.kept_.back();
        if (!ring.is_last(number)) kept.sending = ring.pass_on(number, kept.block.bytes());
    }
}

void Dissemination::receive(const std::function<transport::Bytes(int number)>& place) {
    std::vector<bool> is_kept(static_cast<std::size_t>(count_));
    for (Kept& kept : kept_) {
        is_kept[kept.block.step()] = true;
        kept.place = place(static_cast<int>(kept.block.step()));
    }
    coming_.resize(static_cast<std::size_t>(count_));
    // Blocks of near ranks are expected first.
    for (int i = 1; i < count_; ++i) {
        const int number = (own_ + count_ - i) % count_;
        if (is_kept[static_cast<std::size_t>(number)]) continue;
        transport::Bytes& bytes = coming_[static_cast<std::size_t>(number)];
        bytes = place(number);
        ++awaited_;
        receives_.receive(previous_, bytes, static_cast<std::uint64_t>(number));
    }
}

void Dissemination::send_own(transport::ConstBytes block) {
    if (count_ > 1) own_sending_ = pass_on(own_, block);
}

Task go_on(Operation& op, Dissemination& ring) {
    if (ring.receives_.any()) {
        const int number = static_cast<int>(ring.receives_.take());
        ++ring.looked_at_;
        --ring.awaited_;
        if (!ring.is_last(number)) ring.sending_.push_back(ring.pass_on(number, ring.coming_[static_cast<std::size_t>(number)]));
        co_return;
    }
    if (!ring.can_copy()) co_return;
    const auto kept = std::move(ring.kept_.front());
    ring.kept_.pop_front();
    const transport::Bytes block = kept.block.bytes();
    if (block.size != kept.place.size) {
        op.tell_exchange_differs(ring.previous_, op.communicator().rank, kept.place.size, block.size);
        co_await op.failure();
    }
    co_await op.copy(kept.place, block);
}

Task go_on_until_arrival(Operation& op, Dissemination& ring) {
    while (!op.has_arrived()) {
        co_await op.until([&] { return ring.can_go_on() || op.has_arrived(); });
        if (!op.has_arrived()) co_await go_on(op, ring);
    }
}

Task go_on_until_complete(Operation& op, Dissemination& ring) {
    while (ring.awaited_ > 0 || !ring.kept_.empty()) {
        co_await op.until([&] { return ring.can_go_on(); });
        co_await go_on(op, ring);
    }
}

Task all_sent(Operation& op, Dissemination& ring) {
    co_await op.all_of(ring.sending_);
    co_await ring.own_sending_;
}

}  // namespace rollcall::collectives
