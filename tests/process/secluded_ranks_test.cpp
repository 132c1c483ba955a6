// Ranks of one host that may not look into each other: in namespaces of their own, or not dumpable. They do without shared memory. And
// ranks that cannot open anything more.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "tests/process/harness.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::test {
namespace {

namespace fs = std::filesystem;

#ifdef ROLLCALL_HAS_OFI
const Words kTransports = {"ucx", "ofi"};
#else
const Words kTransports = {"ucx"};
#endif

bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Runs a job of three ranks of one host that exchange messages and make communicators. They do not count as ranks that share memory: a
// barrier that writes into boards would be chosen for those.
void expect_messages(const std::string& transport, const Words& starter) {
    const Ended ended =
        run_ranks(3, {"exchanges", "splits", "storm:20:" + a_seed(), "chooses:barrier:linear"},
                  {.environment = {"ROLLCALL_TRANSPORT=" + transport, "ROLLCALL_LOG=debug"}, .launcher = {}, .starter = starter});
    SCOPED_TRACE(ended.out + ended.error);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(count(ended.out, " done\n"), 3);
    EXPECT_EQ(count(ended.error, "node memory: none"), 3);
}

TEST(SharedMemory, IsReplacedByMessagesBetweenUserNamespaces) {
    if (!succeeds("unshare --user --map-root-user true")) GTEST_SKIP() << "this process may not make a user namespace";
    for (const std::string& transport : kTransports)
        expect_messages(transport, {ROLLCALL_TEST_COMMAND, "run", "-n", "3", "unshare", "--user", "--map-root-user"});
}

// Both are process 1 of their namespaces, and share /dev/shm.
TEST(SharedMemory, IsReplacedByMessagesBetweenRanksWithOnePid) {
    const Words apart = {"unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"};
    if (!succeeds(fmt::format("{} true", fmt::join(apart, " ")))) GTEST_SKIP() << "this process may not make a PID namespace";
    Words starter = {ROLLCALL_TEST_COMMAND, "run", "-n", "3"};
    starter.insert(starter.end(), apart.begin(), apart.end());
    for (const std::string& transport : kTransports) expect_messages(transport, starter);
}

// The kernel does not let others look into a program that its user may not read. Root may look into every program, so it becomes another
// user.
TEST(SharedMemory, IsReplacedByMessagesBetweenRanksThatAreNotDumpable) {
    const std::string user = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    if (!succeeds(user + ROLLCALL_TEST_COMMAND + " --version")) GTEST_SKIP() << "another user cannot run the command";
    const fs::path program = fs::path(testing::TempDir()) / fmt::format("rollcall-test-program-{}", ::getpid());
    fs::copy_file(ROLLCALL_TEST_RANKS, program);
    fs::permissions(program, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec);
    const std::string script =
        fmt::format("shift; {} exec {}{} run -n 3 {} \"$@\"", user.empty() ? "" : "chown 65534 \"$ROLLCALL_TEST_SHARED\";", user,
                    ROLLCALL_TEST_COMMAND, program.string());
    for (const std::string& transport : kTransports) expect_messages(transport, {"sh", "-c", script, "sh"});
    fs::remove(program);
}

TEST(SharedMemory, IsThereFromTheStartForRanksThatCanOpenNothingMore) {
    if (kSanitized) GTEST_SKIP() << "the sanitizers in the ranks open files themselves";
    for (const char* const scenario : {"first_messages_without_files", "first_barrier_without_files"})
        for (const std::string& transport : kTransports) expect_success(3, {scenario}, with({"ROLLCALL_TRANSPORT=" + transport}));
}

}  // namespace
}  // namespace rollcall::test
