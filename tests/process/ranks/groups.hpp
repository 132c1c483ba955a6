/// \file
/// Two groups of ranks, what their members have for each other, and how they call operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <rollcall/plan.hpp>

namespace rollcall::test {

/// Both groups, in a random order of ranks, and the ranks that are in neither. The same on all ranks.
struct Groups {
    Groups(std::mt19937_64& same, int size) {
        std::vector<int> order(static_cast<std::size_t>(size));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), same);
        const std::size_t out = size > 2 && same() % 3 == 0 ? 1 : 0;  // In neither group.
        const std::size_t members = order.size() - out;
        const std::size_t in_first = 1 + same() % (members - 1);
        first.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(in_first));
        second.assign(order.begin() + static_cast<std::ptrdiff_t>(in_first), order.begin() + static_cast<std::ptrdiff_t>(members));
    }
    static int place(const std::vector<int>& group, int rank) {
        const auto found = std::find(group.begin(), group.end(), rank);
        return found == group.end() ? -1 : static_cast<int>(found - group.begin());
    }
    std::vector<int> first, second;
};

/// Returns what a member of one group has for a member of the other.
inline long item_of_group(bool of_first, int from, int to, std::size_t at) {
    return (of_first ? 1'000'000'000L : 2'000'000'000L) + from * 1'000'000L + to * 10'000L + static_cast<long>(at);
}
inline std::vector<long> items_of_group(bool of_first, int from, int to, std::size_t count) {
    std::vector<long> made(count);
    std::iota(made.begin(), made.end(), item_of_group(of_first, from, to, std::size_t{0}));
    return made;
}
inline void append(std::vector<long>& all, const std::vector<long>& more) { all.insert(all.end(), more.begin(), more.end()); }

enum class CallForm { call, start, plan };

/// Runs an operation in one of its forms. A plan runs twice, and the second iteration begins before its caller. Before that, `forget` takes
/// away the results of the first one.
void run_as(
    CallForm form, auto call, auto start, auto plan, const std::function<void()>& forget = [] {}) {
    if (form == CallForm::call) return call();
    if (form == CallForm::start) return (void)start().wait();
    Plan planned = plan();
    planned.run();
    forget();
    planned.begin();
    planned.run();
}

/// For run_as(): spoils the results of a rank that gets some.
template <class T>
auto clears(bool gets, std::vector<T>& results, T value) {
    return [gets, value, &results] {
        if (gets) std::fill(results.begin(), results.end(), value);
    };
}

}  // namespace rollcall::test
