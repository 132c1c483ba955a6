#include "api/blocks.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "collectives/operations.hpp"

namespace rollcall {
namespace {

using detail::IntegerList;
using runtime::Block;

[[noreturn]] void refuse(const std::string& caller, const std::string& what) {
    throw Error(ErrorCode::invalid_argument, caller + ": " + what);
}

void check_list(const IntegerList& list, std::string_view what, int ranks, const std::string& caller) {
    if (list.size() != static_cast<std::size_t>(ranks))
        refuse(caller, fmt::format("there are {} {}s for {} ranks: give one for each rank", list.size(), what, ranks));
    for (std::size_t i = 0; i < list.size(); ++i)
        if (list.is_negative(i))
            refuse(caller, fmt::format("the {} of rank {} is {}: it must be 0 or more", what, i, static_cast<std::int64_t>(list[i])));
}

void check_overlap(const Block* blocks, int ranks, std::uint64_t unit, const std::string& caller) {
    std::vector<int> by_offset;
    for (int rank = 0; rank < ranks; ++rank)
        if (blocks[rank].size > 0) by_offset.push_back(rank);
    std::sort(by_offset.begin(), by_offset.end(), [&](int left, int right) { return blocks[left].offset < blocks[right].offset; });
    for (std::size_t i = 1; i < by_offset.size(); ++i) {
        const int first = by_offset[i - 1], second = by_offset[i];
        if (blocks[first].offset + blocks[first].size > blocks[second].offset)
            refuse(caller,
                   fmt::format("the blocks of rank {} ({} from {} on) and rank {} (from {} on) overlap, but the call writes both: give "
                               "each block a place of its own",
                               first, blocks[first].size / unit, blocks[first].offset / unit, second, blocks[second].offset / unit));
    }
}

}  // namespace

LaidOut lay_out(const Blocks& given, int ranks, int rank, std::optional<std::uint64_t> own, bool written, const std::string& caller) {
    const IntegerList &counts = given.counts(), &offsets = given.offsets();
    const std::uint64_t unit = given.unit();
    const char* const units = unit == 1 && given.room() > collectives::kMostBytes ? "bytes" : "elements";
    check_list(counts, "count", ranks, caller);
    if (offsets) check_list(offsets, "offset", ranks, caller);
    auto blocks = std::make_unique<Block[]>(static_cast<std::size_t>(ranks));
    std::uint64_t next = 0, last = 0;
    for (int i = 0; i < ranks; ++i) {
        const std::uint64_t count = counts[static_cast<std::size_t>(i)];
        const std::uint64_t offset = offsets ? offsets[static_cast<std::size_t>(i)] : next;
        std::uint64_t bytes = 0;
        if (count == 0) continue;  // an empty block has no place
        if (__builtin_add_overflow(offset, count, &next) || __builtin_mul_overflow(next, unit, &bytes) || bytes > collectives::kMostBytes)
            refuse(caller,
                   fmt::format("the block of rank {} ({} {} from {} on) ends beyond the longest buffer that is possible, of {} bytes", i,
                               count, units, offset, collectives::kMostBytes));
        if (next > given.room())
            refuse(caller, fmt::format("the block of rank {} ({} elements from {} on) ends outside of the data, which has {} elements", i,
                                       count, offset, given.room()));
        blocks[static_cast<std::size_t>(i)] = {offset * unit, count * unit};
        last = std::max(last, bytes);
    }
    if (const std::uint64_t counted = own ? blocks[static_cast<std::size_t>(rank)].size : 0; own && counted != *own)
        refuse(caller, fmt::format("this rank's own block has {} {}, but the list gives it a count of {}: the two must be the same",
                                   *own / unit, units, counted / unit));
    if (written && offsets) check_overlap(blocks.get(), ranks, unit, caller);
    return {std::move(blocks), last};
}

Layout lay_out_both(const Blocks& to_send, const Blocks& to_receive, int ranks, std::optional<int> self, const std::string& caller,
                    runtime::Arguments& arguments) {
    const LaidOut sent = lay_out(to_send, ranks, 0, std::nullopt, false, caller + ", data to send");
    const auto own = self ? std::optional(sent.blocks[static_cast<std::size_t>(*self)].size) : std::nullopt;
    const LaidOut received = lay_out(to_receive, ranks, self.value_or(0), own, true, caller + ", data received");
    auto both = std::make_unique<Block[]>(2 * static_cast<std::size_t>(ranks));
    std::copy_n(received.blocks.get(), ranks, both.get());
    std::copy_n(sent.blocks.get(), ranks, both.get() + ranks);
    arguments.contribution.size = sent.end;
    arguments.data.size = received.end;
    arguments.blocks = both.get();
    arguments.contribution_blocks = both.get() + ranks;
    return both;
}

}  // namespace rollcall
