#include "collectives/trees/binary.hpp"

namespace rollcall::collectives {
namespace {

/// The numbers `first` to `first` + `size` - 1, the subtree of `first`.
struct Subtree {
    int first, size;

    int in_first_half() const { return size / 2; }
    Subtree first_child() const { return {first + 1, in_first_half()}; }
    Subtree second_child() const { return {first + 1 + in_first_half(), size - 1 - in_first_half()}; }
};

struct Found {
    Subtree subtree;
    int parent;
};

Found find(int n, int number) {
    Found found{{0, n}, -1};
    while (found.subtree.first != number) {
        const Subtree second = found.subtree.second_child();
        found.parent = found.subtree.first;
        found.subtree = number < second.first ? found.subtree.first_child() : second;
    }
    return found;
}

}  // namespace

TreePlace binary_tree(int n, int root, int rank) {
    const auto actual = [&](int v) { return static_cast<int>((static_cast<long long>(v) + root) % n); };
    const auto [subtree, parent] = find(n, (rank - root + n) % n);
    TreePlace place;
    if (parent >= 0) place.parent = actual(parent);
    for (const Subtree child : {subtree.first_child(), subtree.second_child()})
        if (child.size > 0) place.children.push_back(actual(child.first));
    return place;
}

int binary_children(int n, int root, int rank) {
    const Subtree subtree = find(n, (rank - root + n) % n).subtree;
    return subtree.size > 2 ? 2 : subtree.size - 1;
}

}  // namespace rollcall::collectives
