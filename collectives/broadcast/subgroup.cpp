#include "collectives/broadcast/subgroup.hpp"

#include "collectives/trees/pipelined.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kHeader = 0, kData = 1;
// The words of a header: the segment size, the source, then the targets.
constexpr std::size_t kSegment = 0, kSource = 1, kTargets = 2;

template <class Header>
auto bytes_of(Header& header) {
    return transport::Bytes{header.data(), header.size() * sizeof(header[0])};
}

}  // namespace

void MessageAhead::start(Operation& op, int rank) {
    header_.assign({0, op.rank()});
    header_sent_ = op.send_ahead(rank, bytes_of(header_), kHeader);
    data_sent_ = op.send_ahead(rank, op.arguments().data, kData);
}

Task subgroup_root(Operation& op, std::vector<int> members) {
    const transport::Bytes data = op.arguments().data;
    // A message to a single member is not passed on, so it is not cut.
    const std::uint64_t segment = members.size() > 1 ? op.arguments().segment_bytes : 0;
    const std::uint64_t pieces = segment_count(data.size, segment);
    std::vector<SubgroupHeader> headers(members.size());
    std::vector<Pending> told;
    told.reserve(members.size());
    for (std::size_t position = 0; position < members.size(); ++position) {
        const PipelinedPlace place = pipelined_tree(members.size(), pieces, position);
        SubgroupHeader& header = headers[position];
        header.push_back(static_cast<std::int64_t>(segment));
        header.push_back(position == 0 ? op.rank() : members[place.parent]);
        for (const std::size_t child : place.children) header.push_back(members[child]);
        told.push_back(op.send(members[position], bytes_of(header), kHeader));
    }
    std::vector<int> first(1, members.front());
    co_await relay(op, data, -1, std::move(first), segment, kData);
    co_await op.all_of(told);  // `headers` must live until they are sent
}

Task subgroup_member(Operation& op) {
    SubgroupHeader header(kTargets + kPipelinedChildren);
    const auto receiving = op.receive(op.root(), bytes_of(header), kHeader);
    const std::uint64_t received = co_await receiving;
    std::vector<int> targets;
    for (std::size_t word = kTargets; word < received / sizeof(header[0]); ++word) targets.push_back(static_cast<int>(header[word]));
    co_await relay(op, op.arguments().data, static_cast<int>(header[kSource]), std::move(targets),
                   static_cast<std::uint64_t>(header[kSegment]), kData);
}

bool subgroup_called(Operation& op) { return op.is_here(op.root(), kHeader); }

}  // namespace rollcall::collectives
