// The sub-group broadcast of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 4. How its
// members learn of their places is our own.
//
// Example: the root 0 serves ranks 2 and 3 by a chain. It tells 2 that the data comes from 0 and goes on to 3, and 3 that it comes from 2.
#include "collectives/broadcast/subgroup.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "collectives/blocks/members.hpp"
#include "collectives/trees/group.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::collectives {
namespace {

// The steps. A rank gets a header with each instalment, and one with its place in a sub-group.
constexpr std::uint64_t kHeaders = 0, kInstalments = MessageAhead::kMostInstalments, kData = 2 * MessageAhead::kMostInstalments;
// A shorter instalment would cost much more than its bytes.
constexpr std::uint64_t kLeastInstalment = 64 << 10;

// The form that stands in the header of an instalment. Nothing else is in it: the sizes follow from that of the message.
constexpr std::int64_t kInstalment = -1;
// The words of a header. In a tree: the form, the rank that the message comes from, the segment size, and the ranks that it is sent on to.
constexpr std::size_t kForm = 0, kSource = 1, kSegmentSize = 2, kTargets = 3;
// In a scatter_ring: the form, the rank that the parts come from, the number of members, this member's number among them, the next and the
// previous rank in the ring, the number of parts of the subtree, and the rank and the number of parts of each child.
constexpr std::size_t kMembers = 2, kMember = 3, kNext = 4, kPrevious = 5, kParts = 6, kChildren = 7, kWordsOfChild = 2;

template <class Header>
auto bytes_of(Header& header) {
    return transport::Bytes{header.data(), header.size() * sizeof(header[0])};
}

/// The ranks of a group by their numbers in it. Number 0 is the root.
class Numbers {
  public:
    Numbers(int root, const std::vector<int>& members) : root_(root), members_(members) {}
    int size() const { return static_cast<int>(members_.size()) + 1; }
    int rank(int v) const { return v == 0 ? root_ : members_[static_cast<std::size_t>(v) - 1]; }

  private:
    int root_;
    const std::vector<int>& members_;
};

transport::Bytes instalment(transport::Bytes data, std::uint64_t number) {
    const Range range = Parts::even(data.size, static_cast<int>(MessageAhead::instalments(data.size)))[static_cast<int>(number)];
    return runtime::slice(data, range.begin, range.size());
}

// Between the ranks of a node a message costs no network, but the time of a core, which may be shared. So there are few messages: pieces
// are long, and there is no ring. (With 8 ranks on 2 cores a ring took twice as long as a tree for 64 KiB.)
constexpr std::uint64_t kPieceOnNode = 128 << 10;

// The least cost of a message between nodes, as a number of its bytes. However short the latency of the network is, the ranks do something
// for each message.
constexpr double kLeastMessage = 1 << 10;

/// The cost of a message between nodes, as a number of its bytes. Only the root uses it, and tells the others the result, so ranks need not
/// agree on it.
double message_bytes(const Costs& costs) {
    return std::max(static_cast<double>(costs.network_latency) / time_of_byte(costs.network_mebibyte), kLeastMessage);
}

GroupWay way_to(Operation& op, int n) {
    const std::uint64_t bytes = op.arguments().data.size, asked = op.arguments().segment_bytes;
    if (asked) return group_way(n, bytes, asked);
    return runtime::are_on_one_node(op) ? group_way(n, bytes, kPieceOnNode) : fastest_group_way(n, bytes, message_bytes(op.costs()));
}

SubgroupHeader header_of(const GroupWay& way, const Numbers& group, int v) {
    const int n = group.size();
    SubgroupHeader header = {static_cast<std::int64_t>(way.form)};
    if (way.form != GroupForm::scatter_ring) {
        const TreePlace place = group_place(way.form, n, v);
        header.insert(header.end(), {group.rank(place.parent), static_cast<std::int64_t>(way.segment)});
        for (const int child : place.children) header.push_back(group.rank(child));
        return header;
    }
    const HalvingPlace place = halving_place(n, 0, v);
    const int next = v % (n - 1) + 1, previous = (v + n - 3) % (n - 1) + 1;
    header.insert(header.end(), {group.rank(place.parent), n - 1, v - 1, group.rank(next), group.rank(previous), place.blocks});
    for (const auto& [child, blocks] : place.children) header.insert(header.end(), {group.rank(child), blocks});
    return header;
}

Task member_of_ring(Operation& op, std::span<const std::int64_t> header) {
    const auto word = [&](std::size_t number) { return static_cast<int>(header[number]); };
    const transport::Bytes data = op.arguments().data;
    const Parts parts = Parts::even(data.size, word(kMembers));
    HalvingPlace place{word(kSource), word(kParts), {}};
    for (std::size_t child = kChildren; child < header.size(); child += kWordsOfChild)
        place.children.push_back({word(child), word(child + 1)});
    co_await scatter_down(op, place, word(kMember), parts, data, kData);
    co_await gather_all_in_ring(op, word(kNext), word(kPrevious), word(kMember), parts, data, kData + 1);
}

}  // namespace

std::uint64_t MessageAhead::instalments(std::uint64_t bytes) {
    return std::clamp<std::uint64_t>(bytes / kLeastInstalment, 1, kMostInstalments);
}

void MessageAhead::send_next(Operation& op, int rank) {
    if (std::exchange(rank_, rank) != rank) sent_ = 0;
    const transport::Bytes data = op.arguments().data;
    header_ = {kInstalment};
    header_sent_ = op.send_ahead(rank, bytes_of(header_), kHeaders + sent_);
    data_sent_ = op.send_ahead(rank, instalment(data, sent_), kInstalments + sent_);
    ++sent_;
}

Task subgroup_root(Operation& op, std::vector<int> members, const MessageAhead& ahead) {
    const transport::Bytes data = op.arguments().data;
    const Numbers group(op.rank(), members);
    const int n = group.size();
    const GroupWay way = way_to(op, n);
    std::vector<SubgroupHeader> headers;
    std::vector<Pending> told;
    headers.reserve(members.size());
    told.reserve(members.size());
    for (int v = 1; v < n; ++v) {
        headers.push_back(header_of(way, group, v));
        told.push_back(op.send(group.rank(v), bytes_of(headers.back()), kHeaders + ahead.sent_to(group.rank(v))));
    }
    if (way.form == GroupForm::scatter_ring) {
        HalvingPlace place = halving_place(n, 0, 0);
        for (auto& child : place.children) child.rank = group.rank(child.rank);
        constexpr int kNoPart = -1;  // The parts from the first one on belong to the other ranks.
        co_await scatter_down(op, place, kNoPart, Parts::even(data.size, n - 1), data, kData);
    } else {
        std::vector<int> children = group_place(way.form, n, 0).children;
        for (int& child : children) child = group.rank(child);
        co_await relay(op, data, -1, std::move(children), way.segment, kData);
    }
    co_await op.all_of(told);  // `headers` must live until they are sent
}

Task subgroup_member(Operation& op) {
    const transport::Bytes data = op.arguments().data;
    SubgroupHeader header;
    for (std::uint64_t number = 0;; ++number) {
        if (number == MessageAhead::instalments(data.size)) co_return;
        header.resize(kChildren + kWordsOfChild * static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(op.size()))));
        const auto receiving = op.receive(op.root(), bytes_of(header), kHeaders + number);
        const std::uint64_t received = co_await receiving;
        header.resize(received / sizeof(header[0]));
        if (header[kForm] != kInstalment) break;
        co_await op.receive(op.root(), instalment(data, number), kInstalments + number);
    }
    if (static_cast<GroupForm>(header[kForm]) == GroupForm::scatter_ring) {
        co_await member_of_ring(op, header);
        co_return;
    }
    std::vector<int> targets;
    for (std::size_t word = kTargets; word < header.size(); ++word) targets.push_back(static_cast<int>(header[word]));
    co_await relay(op, data, static_cast<int>(header[kSource]), std::move(targets), static_cast<std::uint64_t>(header[kSegmentSize]),
                   kData);
}

bool message_is_ahead(Operation& op) { return op.is_here(op.root(), kHeaders + MessageAhead::instalments(op.arguments().data.size) - 1); }

}  // namespace rollcall::collectives
