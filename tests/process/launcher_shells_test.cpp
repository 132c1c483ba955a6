/// \file
/// Tests how `rollcall run` calls remote shells, and what it gives to ranks from there. The shells are scripts that run their arguments here.
#include "tests/process/launched.hpp"

namespace {

using namespace rollcall::test;

/// In an allocation of Slurm, this name is the way back to ssh.
TEST(Shells, SshByItsNameIsTheDefault) {
    const Result unnamed = run({"--hosts", "localhost:1,a:1", "--dry-run", "true"});
    const Result named = run({"--hosts", "localhost:1,a:1", "--agent", "ssh", "--dry-run", "true"});
    EXPECT_EQ(named.code, 0) << named.error;
    EXPECT_EQ(named.out, unnamed.out);
    EXPECT_EQ(count(named.out, " by: ssh "), 1) << named.out;
}

}  // namespace
