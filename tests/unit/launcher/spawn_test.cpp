// What the child of a launcher says when it cannot start its program.
#include "launcher/spawn.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "foundation/descriptor.hpp"
#include "foundation/ends.hpp"

namespace rollcall::launcher {
namespace {

/// Starts a program that fails, and returns what the child reported.
SpawnFailure failure_of(const char* path, const std::vector<int>& processors) {
    const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    Ends report = make_pipe();
    const std::vector<std::string> argv{path};
    const std::vector<std::string> environment;
    const Inherited inherited;
    Spawn what;
    what.path = path;
    what.argv = &argv;
    what.environment = &environment;
    what.input = what.output = what.error = what.bootstrap = null.get();
    what.report = report.second.get();
    what.rank = 3;
    what.processors = processors;
    what.inherited = &inherited;
    const pid_t child = spawn(what);
    EXPECT_GT(child, 0);
    report.second.reset();
    ::waitpid(child, nullptr, 0);
    SpawnFailure failure;
    EXPECT_EQ(::read(report.first.get(), &failure, sizeof failure), static_cast<ssize_t>(sizeof failure)) << "it started";
    return failure;
}

TEST(LauncherSpawn, AFailureTellsItsStep) {
    const auto missing = failure_of("/nonexistent/program", {});
    EXPECT_EQ(missing.rank, 3);
    EXPECT_EQ(missing.error, ENOENT);
    EXPECT_EQ(missing.step, SpawnFailure::Step::program);
    // As when a CPU was taken away after the ranks had been placed.
    const auto unbound = failure_of("/bin/true", {100'000});
    EXPECT_EQ(unbound.error, EINVAL);
    EXPECT_EQ(unbound.step, SpawnFailure::Step::binding);
}

}  // namespace
}  // namespace rollcall::launcher
