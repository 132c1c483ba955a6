#include "collectives/schedules/pairing_heap_search.hpp"

namespace rollcall::collectives {

PairingHeapSearch::PairingHeapSearch(int processes, int segments)
    : N_(segments),
      place_(static_cast<std::size_t>(processes), -1),
      heaps_(static_cast<std::size_t>(segments), Heap(Later{place_.data()})),
      handles_(static_cast<std::size_t>(processes) * static_cast<std::size_t>(segments)),
      M_(handles_.size(), true),
      counts_(static_cast<std::size_t>(processes)) {}

void PairingHeapSearch::insert(int process, int s) {
    handles_[cell(process, s)] = heaps_[static_cast<std::size_t>(s)].push(process);
    ++counts_[static_cast<std::size_t>(process)].insertions;
}

void PairingHeapSearch::erase(int process, int s) {
    heaps_[static_cast<std::size_t>(s)].erase(handles_[cell(process, s)]);
    ++counts_[static_cast<std::size_t>(process)].erasures;
}

void PairingHeapSearch::begin_round(std::span<const int> order) {
    order_ = order;
    S_.assign(order.size(), false);
    came_.assign(order.size(), -1);
    // The processes in the heaps keep their relative order, so the heaps stay valid while places change.
    std::vector<int> arrived;
    for (std::size_t place = 0; place < order.size(); ++place) {
        int& known = place_[static_cast<std::size_t>(order[place])];
        if (known < 0) arrived.push_back(order[place]);
        known = static_cast<int>(place);
    }
    for (const int process : arrived) {
        for (int s = 0; s < N_; ++s) insert(process, s);
        counts_[static_cast<std::size_t>(process)] = {};
    }
}

Match PairingHeapSearch::match(int place) {
    const int i = order_[static_cast<std::size_t>(place)];
    for (int s = 0; s < N_; ++s) {
        const bool unsent = M_[cell(i, s)];
        if (place > 0 && !unsent) continue;
        const bool offers = unsent && !S_[static_cast<std::size_t>(place)];  // Then i is in the heap itself.
        Heap& heap = heaps_[static_cast<std::size_t>(s)];
        if (heap.size() < (offers ? 2u : 1u)) continue;
        if (offers) erase(i, s);
        const int z = heap.top();
        for (int other = 0; other < N_; ++other)
            if (M_[cell(z, other)]) erase(z, other);
        S_[static_cast<std::size_t>(place_[static_cast<std::size_t>(z)])] = true;
        M_[cell(z, s)] = false;
        M_[cell(i, s)] = false;
        came_[static_cast<std::size_t>(place)] = s;
        return {s, place_[static_cast<std::size_t>(z)], !unsent};
    }
    return {};
}

void PairingHeapSearch::end_round() {
    for (std::size_t place = 0; place < order_.size(); ++place) {
        const int process = order_[place];
        if (came_[place] >= 0) M_[cell(process, came_[place])] = true;
        if (S_[place]) {
            for (int s = 0; s < N_; ++s)
                if (M_[cell(process, s)]) insert(process, s);
        } else if (came_[place] >= 0) {
            insert(process, came_[place]);
        }
    }
}

std::size_t PairingHeapSearch::bytes() const {
    return handles_.size() * (sizeof(Heap::handle_type) + sizeof(std::uint8_t) + sizeof(boost::heap::detail::heap_node<int, false>));
}

}  // namespace rollcall::collectives
