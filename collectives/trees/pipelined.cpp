#include "collectives/trees/pipelined.hpp"

namespace rollcall::collectives {

PipelinedPlace pipelined_tree(std::size_t members, std::uint64_t pieces, std::size_t position) {
    const std::size_t width = pieces > 1 && members > pieces ? kPipelinedChildren : 1;
    PipelinedPlace place;
    if (position > 0) place.parent = (position - 1) / width;
    for (std::size_t child = position * width + 1; child <= position * width + width && child < members; ++child)
        place.children.push_back(child);
    return place;
}

}  // namespace rollcall::collectives
