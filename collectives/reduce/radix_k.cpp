// Radix-k reduce. T. Peterka, D. Goodell, R. Ross, H.-W. Shen and R. Thakur, "A configurable algorithm for parallel image-compositing
// applications", SC 2009. J. Proficz and K. M. Ocetkiewicz, "Improving Clairvoyant", 2020, section 6, compare Clairvoyant with it.
//
// Idea: P is a product of factors k. In the round of a factor, groups of k ranks exchange directly the k parts of the elements that they
// still share, and each combines its own part. After the last round each rank has 1 / P of the elements, combined. These parts go to the
// root up a binomial tree. With all factors 2 it is Rabenseifner's reduce; with larger ones there are fewer rounds of more messages. No
// ranks have to form pairs first if P is not a power of two. Ranks are counted from the root on. The elements are not combined in rank
// order.
//
// Example: P = 6 = 3 * 2, root 0, all elements take 6, full duplex. The groups {0, 2, 4} and {1, 3, 5} exchange thirds: each rank sends two
// and receives two until 4. The groups {0, 1}, {2, 3} and {4, 5} exchange a sixth until 5. 1->0, 3->2 and 5->4 until 6; 2->0 sends a third
// until 8, and 4->0 until 10.
#include <algorithm>
#include <optional>

#include "collectives/combining/radix_groups.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {
namespace {

/// Groups are not larger than this if the number of ranks allows it. Larger groups save few rounds, and in a round each rank receives from
/// all other ranks of its group at the same time.
constexpr int kLargestGroup = 4;

/// The factors of n: as many as possible of the largest group's size, then of smaller sizes, and then primes.
std::vector<int> group_sizes(int n) {
    std::vector<int> sizes;
    int size = kLargestGroup;
    while (n > 1) {
        if (n % size == 0) {
            sizes.push_back(size);
            n /= size;
        } else {
            size = size > 2 && size <= kLargestGroup ? size - 1 : std::max(size, kLargestGroup) + 1;
        }
    }
    return sizes;
}

}  // namespace

Task reduce_radix_k(Operation& op) {
    const int n = op.size(), root = op.root();
    const auto contribution = op.arguments().contribution;
    if (n == 1) {
        co_await copy_own(op, op.arguments().data, contribution);
        co_return;
    }
    std::optional<Scratch> scratch;
    if (op.rank() != root) scratch.emplace(contribution.size, contribution);
    const transport::Bytes sum = scratch ? scratch->bytes() : op.arguments().data;
    const int own = (op.rank() - root + n) % n;
    const RadixGroups groups{.own = own, .factors = group_sizes(n), .rank_of = [root, n](int number) { return (root + number) % n; }};
    const Parts parts = even_parts(op, n);
    co_await combine_in_groups(op, groups, parts, contribution, sum, parts_of(sum, parts, own, own), 0);
    co_await gather_at_first(op, groups, parts, sum, groups.factors.size());
}

}  // namespace rollcall::collectives
