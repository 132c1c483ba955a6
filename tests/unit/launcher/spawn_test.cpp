// What the child of a launcher says when it cannot start its program.
#include "launcher/processes/spawn.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "foundation/descriptor.hpp"
#include "foundation/ends.hpp"
#include "launcher/processes/stacks.hpp"

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

TEST(LauncherStacks, SayWhyThereAreNone) {
    const auto directory = std::filesystem::path(testing::TempDir()) / fmt::format("rollcall-gdb-{}", ::getpid());
    std::filesystem::create_directories(directory);
    constexpr int kRight = 0, kStaysRoot = 77;
    const pid_t user = ::fork();
    if (user == 0) {
        ::setenv("PATH", directory.c_str(), 1);
        std::string without, with;
        bool right = start_tracer({{0, 1}}, {}, without) == -1 && without == "has no gdb in PATH";
        std::ofstream(directory / "gdb") << "#!/bin/sh\n";
        std::filesystem::permissions(directory / "gdb", std::filesystem::perms::all);
        const rlimit none{};
        constexpr uid_t kNobody = 65534;  // the limit does not hold for root
        if (::setrlimit(RLIMIT_NPROC, &none) != 0 || (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0)) ::_exit(kStaysRoot);
        right = start_tracer({{0, 1}}, {}, with) == -1 && right;
        right = with.starts_with("cannot start gdb: Resource temporarily unavailable; raise the limit of processes") && right;
        if (!right) std::fprintf(stderr, "%s, %s\n", without.c_str(), with.c_str());
        ::_exit(right ? kRight : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(user, &status, 0), user);
    std::filesystem::remove_all(directory);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    if (WEXITSTATUS(status) == kStaysRoot) GTEST_SKIP() << "the limit does not hold for root, and this root may not become another user";
    EXPECT_EQ(WEXITSTATUS(status), kRight);
}

}  // namespace
}  // namespace rollcall::launcher
