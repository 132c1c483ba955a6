/// \file
/// Which ranks have come to the rendezvous, and which are missing.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "bootstrap/rendezvous/assembly.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

TEST(AssemblyOfAJob, NamesNodesAndWhoIsMissing) {
    Assembly assembly(0);
    EXPECT_FALSE(assembly.complete());
    EXPECT_FALSE(assembly.arrive(0, "a", 3, 4));
    EXPECT_EQ(assembly.size(), 4);
    EXPECT_EQ(assembly.missing(), "ranks 0, 1, 2");
    EXPECT_FALSE(assembly.arrive(2, "b", 0, 4));
    EXPECT_FALSE(assembly.arrive(2, "b", 2, 4));
    EXPECT_EQ(assembly.missing(), "rank 1");
    EXPECT_FALSE(assembly.complete());
    EXPECT_TRUE(contains(assembly.arrive(2, "b", 3, 4)->what(), "one on host a and one on host b"));
    EXPECT_TRUE(contains(assembly.arrive(2, "b", 1, 5)->what(), "rank 3 that there are 4"));
    EXPECT_TRUE(contains(assembly.arrive(2, "b", 4, 4)->what(), "rank 4 of 4"));
    EXPECT_FALSE(assembly.arrive(0, "a", 1, 4));
    EXPECT_TRUE(assembly.complete());
    EXPECT_EQ(assembly.nodes(), (std::map<int, std::vector<int>>{{0, {1, 3}}, {2, {0, 2}}}));
}

}  // namespace
}  // namespace rollcall::bootstrap
