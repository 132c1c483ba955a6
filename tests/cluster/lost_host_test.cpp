// A host crashes, and the ranks of the others go on without those of that host.
#include <fmt/format.h>

#include "tests/cluster/harness.hpp"

namespace rollcall::test {
namespace {

class LostHost : public ClusterTest {};

TEST_F(LostHost, TheOthersGoOnWithoutItsRanks) {
    Cluster cluster("3", {"--ssh"});
    Command command(cluster.words({"exec", "head", ROLLCALL_COMMAND, "run", "--hosts", "node[0-2]:2", "--agent",
                                   fmt::format("ssh -F {}/ssh_config", cluster.state()), "--silence", "1s", "--max-failures", "2",
                                   "--timeout", "60s", ROLLCALL_TEST_RANKS, "without_a_host:4"}));
    ASSERT_TRUE(command.wait_for(" works\n", std::chrono::seconds(30), 6)) << command.so_far().out << command.so_far().error;
    ASSERT_EQ(cluster.call({"crash", "node1"}).code, 0);
    const Result result = command.finish();
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    for (const int rank : {0, 1, 4, 5}) EXPECT_TRUE(has(result.out, fmt::format("rank {} done\n", rank))) << result.out << result.error;
    EXPECT_TRUE(has(result.error, "the job goes on, because --max-failures allows 2 failures (2 so far)")) << result.error;
}

}  // namespace
}  // namespace rollcall::test
