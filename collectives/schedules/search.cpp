#include "collectives/schedules/search.hpp"

#include "collectives/schedules/pairing_heap_search.hpp"

namespace rollcall::collectives {

std::string_view name(SearchKind kind) noexcept {
    switch (kind) {
        case SearchKind::linear: return "linear";
        case SearchKind::pairing_heap: return "pairing_heap";
        case SearchKind::segment_tree: break;
    }
    return "segment_tree";
}

std::unique_ptr<PeerSearch> make_search(SearchKind kind, int processes, int segments) {
    switch (kind) {
        case SearchKind::linear: return make_linear_search(processes, segments);
        case SearchKind::pairing_heap: return std::make_unique<PairingHeapSearch>(processes, segments);
        case SearchKind::segment_tree: break;
    }
    return make_segment_tree_search(processes, segments);
}

}  // namespace rollcall::collectives
