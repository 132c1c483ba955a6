#include "collectives/allgather/dissemination.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::collectives {

Dissemination::Dissemination(Operation& op, int next, int previous, int own, int count)
    : op_(op), next_(next), previous_(previous), own_(own), count_(count) {}

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
    // Blocks of near ranks are expected first.
    for (int i = 1; i < count_; ++i) {
        const int number = (own_ + count_ - i) % count_;
        if (is_kept[static_cast<std::size_t>(number)]) continue;
        const transport::Bytes bytes = place(number);
        coming_.push_back({number, bytes, op_.receive(previous_, bytes, static_cast<std::uint64_t>(number))});
    }
}

void Dissemination::send_own(transport::ConstBytes block) {
    if (count_ > 1) own_sending_ = pass_on(own_, block);
}

bool Dissemination::can_go_on() {
    const auto come = std::find_if(coming_.begin(), coming_.end(), [](const Coming& one) { return one.transfer.done(); });
    come_ = static_cast<std::size_t>(come - coming_.begin());
    return come != coming_.end() || std::any_of(kept_.begin(), kept_.end(), [&](const Kept& one) { return can_be_copied(one); });
}

Task go_on(Operation& op, Dissemination& ring) {
    if (ring.come_ < ring.coming_.size()) {
        const auto come = ring.coming_.begin() + static_cast<std::ptrdiff_t>(ring.come_);
        if (!ring.is_last(come->number)) ring.sending_.push_back(ring.pass_on(come->number, come->place));
        ring.coming_.erase(come);
        co_return;
    }
    const auto found = std::find_if(ring.kept_.begin(), ring.kept_.end(), [&](const auto& one) { return ring.can_be_copied(one); });
    if (found == ring.kept_.end()) co_return;
    const auto kept = std::move(*found);
    ring.kept_.erase(found);
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
    while (!ring.coming_.empty() || !ring.kept_.empty()) {
        co_await op.until([&] { return ring.can_go_on(); });
        co_await go_on(op, ring);
    }
}

Task all_sent(Operation& op, Dissemination& ring) {
    co_await op.all_of(ring.sending_);
    co_await ring.own_sending_;
}

}  // namespace rollcall::collectives
