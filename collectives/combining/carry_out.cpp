#include "collectives/combining/carry_out.hpp"

#include <algorithm>
#include <utility>

#include "collectives/pieces.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

Task carry_out(Operation& op, std::span<const Step> steps, std::vector<Share> segments, Bytes own, std::uint64_t first_step) {
    const ConstBytes contribution = op.arguments().contribution;
    std::uint64_t longest = 0;
    for (const Share& segment : segments) longest = std::max(longest, segment.size());
    const Scratch received(longest, contribution);
    std::vector<bool> is_touched(segments.size());  // if not, this rank's value of the segment is its contribution
    std::vector<Pending> sending(segments.size());
    std::vector<std::uint64_t> latest;  // the segments that were sent in the last round with sends
    std::int64_t round = -1;
    for (const Step& step : steps) {
        const std::uint64_t number = step.segment, tag = first_step + static_cast<std::uint64_t>(step.round) * segments.size() + number;
        const Bytes into = part_of(own, segments[number]);
        const ConstBytes mine = is_touched[number] ? ConstBytes(into) : part_of(contribution, segments[number]);
        if (step.kind == Step::send) {
            co_await sending[number];
            // Schedules count on ports that carry one message at a time. A rank that has received all it needs could send far ahead of the
            // others, and its messages would keep those of earlier rounds from their receiver.
            if (std::exchange(round, step.round) != step.round) {
                for (const std::uint64_t sent : latest) co_await sending[sent];
                latest.clear();
            }
            sending[number] = op.send(step.peer, mine, tag);
            latest.push_back(number);
            continue;
        }
        if (step.kind == Step::combine) {
            const Bytes come = runtime::slice(received.bytes(), 0, into.size);
            const auto receiving = op.receive(step.peer, come, tag);
            co_await receiving;
            co_await sending[number];
            const bool comes_left = step.peer < op.rank();
            co_await op.combine(into, comes_left ? ConstBytes(come) : mine, comes_left ? mine : ConstBytes(come));
        } else {
            co_await sending[number];
            co_await op.receive(step.peer, into, tag);
        }
        is_touched[number] = true;
    }
    co_await op.all_of(sending);
}

std::vector<Share> pieces_of(const Operation& op, std::uint64_t segment, std::uint64_t most) {
    const std::uint64_t bytes = op.arguments().contribution.size, least = (bytes + most - 1) / most;
    const auto& combiner = op.arguments().combiner;
    const std::uint64_t length =
        segment ? combiner.whole_elements(std::max(segment, least + combiner.element_bytes)) : std::max<std::uint64_t>(bytes, 1);
    std::vector<Share> pieces;
    for (std::uint64_t number = 0; number < segment_count(bytes, length); ++number)
        pieces.push_back({number * length, std::min(bytes, (number + 1) * length)});
    return pieces;
}

}  // namespace rollcall::collectives
