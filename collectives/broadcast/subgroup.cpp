#include "collectives/broadcast/subgroup.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kHeader = 0, kData = 1;
}  // namespace

void MessageAhead::start(Operation& op, int rank) {
    header_ = {0, op.rank(), -1};
    header_sent_ = op.send_ahead(rank, {&header_, sizeof header_}, kHeader);
    data_sent_ = op.send_ahead(rank, op.arguments().data, kData);
}

Task subgroup_root(Operation& op, std::vector<int> members) {
    const std::uint64_t segment = members.size() > 1 ? op.arguments().segment_bytes : 0;
    std::vector<SubgroupHeader> headers(members.size());
    std::vector<Pending> told;
    told.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
        headers[i] = {segment, i == 0 ? op.rank() : members[i - 1], i + 1 < members.size() ? members[i + 1] : -1};
        told.push_back(op.send(members[i], {&headers[i], sizeof(SubgroupHeader)}, kHeader));
    }
    std::vector<int> first(1, members.front());
    co_await relay(op, op.arguments().data, -1, std::move(first), segment, kData);
    co_await op.all_of(told);  // the headers live here
}

Task subgroup_member(Operation& op) {
    SubgroupHeader header;
    co_await op.receive(op.root(), {&header, sizeof header}, kHeader);
    std::vector<int> after;
    if (header.successor >= 0) after.push_back(header.successor);
    co_await relay(op, op.arguments().data, header.predecessor, std::move(after), header.segment_bytes, kData);
}

bool subgroup_called(Operation& op) { return op.is_here(op.root(), kHeader); }

}  // namespace rollcall::collectives
