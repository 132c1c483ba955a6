// Proficz, Ocetkiewicz (see clairvoyant.cpp), section 5.4. The unsent segments of a process are a row of bits. The leaves of a binary tree
// are the rows of the processes that have not sent in this round, in the order of the round. Each inner node is the union of its children.
// The segments that processes other than i can send are the union of the siblings on the way from the leaf of i up to the root (Listing 3).
// To find the first process that can send s, go down from the root: to the left if that child has s, else to the right (Listing 4).
//
// Example: 4 processes, with the rows (segments 0 and 1) 01, 10, 11, 10. The nodes above them are 11 and 11. The processes other than the
// first have 10 | 11 = 11. With the first one's own 01, that leaves segment 1, which the third process sends.
//
// The tree is built anew in each round over the processes that take part. This takes no longer than putting back those that have sent. It
// needs neither the paper's second index of each process nor its pseudo root, because the sink comes first.
//
// This file is compiled once for each kind of processor. At run time, the kind that has the widest vectors of the processor is chosen.
// Functions of the standard library must not be instantiated in the part that is compiled repeatedly: the linker keeps one of the copies,
// which may be for the wrong processor.
#include "collectives/schedules/search.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/schedules/segment_tree_search.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#ifndef ROLLCALL_SEGMENT_TREE_ROWS
#define ROLLCALL_SEGMENT_TREE_ROWS
namespace rollcall::collectives {

/// The memory, separate from the code that works on it. A row has `row` words, which is a multiple of the vector width used for it.
class SegmentTreeRows : public PeerSearch {
  public:
    SegmentTreeRows(int processes, int segments, std::size_t row);
    std::size_t bytes() const override { return total_ * sizeof(std::uint64_t); }

  protected:
    /// Begins a round: no process of this order has sent yet.
    void take_order(std::span<const int> order);

    const int* order_ = nullptr;
    std::size_t count_ = 0;   ///< The number of processes of this round.
    std::size_t leaves_ = 1;  ///< The smallest power of two that is not below count_.
    const std::size_t row_;
    std::uint64_t* unsent_;  ///< A row for each process: segments not sent, and not received in this round.
    std::uint64_t* tree_;    ///< A row for each node, the root at 1, the children of k at 2k and 2k + 1.
    std::uint8_t* sent_;     ///< By place: S.
    std::int32_t* came_;     ///< By place: the segment in state P'; -1: none.

  private:
    std::size_t total_;
    struct Free {
        void operator()(std::uint64_t* words) const { ::operator delete(words, kAlignment); }
    };
    static constexpr std::align_val_t kAlignment{64};  // The size of the widest vectors.
    std::unique_ptr<std::uint64_t[], Free> memory_;
    std::vector<std::uint8_t> sent_memory_;
    std::vector<std::int32_t> came_memory_;
};

}  // namespace rollcall::collectives
#endif

HWY_BEFORE_NAMESPACE();
namespace rollcall::collectives {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Wide>
class SegmentTree final : public SegmentTreeRows {
  public:
    SegmentTree(int processes, int segments, std::size_t row) : SegmentTreeRows(processes, segments, row) {}

    void begin_round(std::span<const int> order) override {
        take_order(order);
        for (std::size_t place = 0; place < count_; ++place) copy(unsent_of(place), node(leaves_ + place));
        std::size_t used = count_;
        for (std::size_t level = leaves_; level > 1; level /= 2) {
            // Beyond the last used node of a level, only its sibling is ever read.
            if (used % 2 == 1) clear(node(level + used++));
            used /= 2;
            for (std::size_t k = level / 2; k < level / 2 + used; ++k) unite(node(2 * k), node(2 * k + 1), node(k));
        }
    }

    Match match(int place) override {
        const auto i = static_cast<std::size_t>(place);
        std::uint64_t* const own = unsent_of(i);
        const int s = i == 0 ? first_segment<true>(i, own) : first_segment<false>(i, own);
        if (s < 0) return {};

        const auto word = static_cast<std::size_t>(s) / 64;
        const std::uint64_t bit = std::uint64_t{1} << (s % 64);
        const bool was_given = (own[word] & bit) == 0;
        came_[i] = s;
        own[word] &= ~bit;
        if (!was_given && !sent_[i]) take_bit(leaves_ + i, word, bit);
        const std::size_t z = first_with(word, bit);
        unsent_of(z)[word] &= ~bit;
        sent_[z] = 1;
        take_row(leaves_ + z);
        return {s, static_cast<int>(z), was_given};
    }

    void end_round() override {
        for (std::size_t i = 0; i < count_; ++i)
            if (came_[i] >= 0) unsent_of(i)[came_[i] / 64] |= std::uint64_t{1} << (came_[i] % 64);
    }

  private:
    static constexpr Wide kWide{};

    std::uint64_t* unsent_of(std::size_t place) { return unsent_ + static_cast<std::size_t>(order_[place]) * row_; }
    std::uint64_t* node(std::size_t k) { return tree_ + k * row_; }

    void copy(const std::uint64_t* from, std::uint64_t* to) {
        for (std::size_t w = 0; w < row_; w += hn::Lanes(kWide)) hn::Store(hn::Load(kWide, from + w), kWide, to + w);
    }
    void clear(std::uint64_t* row) {
        for (std::size_t w = 0; w < row_; w += hn::Lanes(kWide)) hn::Store(hn::Zero(kWide), kWide, row + w);
    }
    void unite(const std::uint64_t* left, const std::uint64_t* right, std::uint64_t* to) {
        for (std::size_t w = 0; w < row_; w += hn::Lanes(kWide))
            hn::Store(hn::Or(hn::Load(kWide, left + w), hn::Load(kWide, right + w)), kWide, to + w);
    }

    /// The first segment that a process other than i can send and that i has not sent. The sink takes any segment that another process can
    /// send. -1: none.
    template <bool kSink>
    int first_segment(std::size_t i, const std::uint64_t* own) {
        for (std::size_t w = 0; w < row_; w += hn::Lanes(kWide)) {
            auto others = hn::Zero(kWide);
            if (sent_[i]) {
                others = hn::Load(kWide, node(1) + w);  // The leaf of i is empty.
            } else {
                for (std::size_t k = leaves_ + i; k > 1; k /= 2) others = hn::Or(others, hn::Load(kWide, node(k ^ 1) + w));
            }
            if constexpr (!kSink) others = hn::And(others, hn::Load(kWide, own + w));
            HWY_ALIGN std::uint64_t words[HWY_MAX_BYTES / sizeof(std::uint64_t)];
            hn::Store(others, kWide, words);
            for (std::size_t lane = 0; lane < hn::Lanes(kWide); ++lane)
                if (words[lane]) return static_cast<int>(64 * (w + lane) + hwy::Num0BitsBelowLS1Bit_Nonzero64(words[lane]));
        }
        return -1;
    }

    /// The place of the first leaf with this bit; there is one.
    std::size_t first_with(std::size_t word, std::uint64_t bit) {
        std::size_t k = 1;
        while (k < leaves_) {
            k *= 2;
            k += (node(k)[word] & bit) == 0;
        }
        return k - leaves_;
    }

    /// Clears a bit in a leaf, and in those nodes above it that have the bit only from there.
    void take_bit(std::size_t k, std::size_t word, std::uint64_t bit) {
        node(k)[word] &= ~bit;
        while (k > 1 && (node(k ^ 1)[word] & bit) == 0) {
            k /= 2;
            node(k)[word] &= ~bit;
        }
    }

    /// Clears a leaf, and updates the nodes above it.
    void take_row(std::size_t leaf) {
        for (std::size_t w = 0; w < row_; w += hn::Lanes(kWide)) {
            auto row = hn::Zero(kWide);
            hn::Store(row, kWide, node(leaf) + w);
            for (std::size_t k = leaf; k > 1; k /= 2) {
                row = hn::Or(row, hn::Load(kWide, node(k ^ 1) + w));
                hn::Store(row, kWide, node(k / 2) + w);
            }
        }
    }
};

template <std::size_t kWords>
PeerSearch* new_tree_of(int processes, int segments, std::size_t words) {
    using Wide = hn::CappedTag<std::uint64_t, kWords>;
    const std::size_t lanes = hn::Lanes(Wide());
    return new SegmentTree<Wide>(processes, segments, (words + lanes - 1) / lanes * lanes);
}

/// Chooses vectors that are no wider than a row needs, so that short rows stay short.
PeerSearch* new_tree(int processes, int segments) {
    const std::size_t words = (static_cast<std::size_t>(segments) + 63) / 64;
    if (words == 1) return new_tree_of<1>(processes, segments, words);
    if (words == 2) return new_tree_of<2>(processes, segments, words);
    if (words <= 4) return new_tree_of<4>(processes, segments, words);
    return new_tree_of<8>(processes, segments, words);
}

}  // namespace HWY_NAMESPACE
}  // namespace rollcall::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <bit>

#include "collectives/vectors/targets.hpp"

namespace rollcall::collectives {

SegmentTreeRows::SegmentTreeRows(int processes, int segments, std::size_t row)
    : row_(row), sent_memory_(static_cast<std::size_t>(processes)), came_memory_(static_cast<std::size_t>(processes)) {
    const auto P = static_cast<std::size_t>(processes);
    const std::size_t nodes = 2 * std::bit_ceil(P);
    total_ = (P + nodes) * row;
    memory_.reset(static_cast<std::uint64_t*>(::operator new(total_ * sizeof(std::uint64_t), kAlignment)));
    unsent_ = memory_.get();
    tree_ = unsent_ + P * row;
    sent_ = sent_memory_.data();
    came_ = came_memory_.data();
    const auto N = static_cast<std::size_t>(segments);
    for (std::size_t word = 0; word < row; ++word) {
        const std::size_t begin = 64 * word;
        const std::uint64_t bits = begin + 64 <= N ? ~std::uint64_t{0} : begin >= N ? 0 : (std::uint64_t{1} << (N - begin)) - 1;
        for (std::size_t process = 0; process < P; ++process) unsent_[process * row + word] = bits;
    }
}

void SegmentTreeRows::take_order(std::span<const int> order) {
    order_ = order.data();
    count_ = order.size();
    leaves_ = std::bit_ceil(count_);
    std::fill_n(sent_, count_, std::uint8_t{0});
    std::fill_n(came_, count_, -1);
}

std::unique_ptr<PeerSearch> make_segment_tree_search(int processes, int segments) {
    return std::unique_ptr<PeerSearch>(ROLLCALL_BEST_TARGET(new_tree)(processes, segments));
}

}  // namespace rollcall::collectives
#endif
