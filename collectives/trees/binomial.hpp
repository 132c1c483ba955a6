/// \file
/// The binomial tree. A pure function of sizes.
#pragma once

#include <vector>

namespace rollcall::collectives {

/// One rank's place in a tree.
struct TreePlace {
    int parent = -1;            ///< -1 at the root.
    std::vector<int> children;  ///< In the order in which they are served.
};

/// The binomial tree of Patarasuk and Yuan, section 3.3. Let v be a rank's number counted from the root. In step i (from 1) each rank v <
/// 2^(i-1) sends to v + 2^(i-1). So the parent of v is v without its highest bit, and its children are, in this order, v + 2^k for every
/// 2^k > v for which v + 2^k is below n. Takes any root and any n >= 1, and returns ranks of the communicator. Example: n = 8, root 0: 0 ->
/// 1, 2, 4; 1 -> 3, 5; 2 -> 6; 3 -> 7.
TreePlace binomial_tree(int n, int root, int rank);

}  // namespace rollcall::collectives
