// The file that the ranks of a node share: what all of them can have, and which ranks are left out.
#include "runtime/node/segment.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "runtime/node/process_file.hpp"

namespace rollcall::runtime::node {
namespace {

constexpr std::uint64_t kMoreThanEnough = std::uint64_t{1} << 40;

TEST(NodeSegment, RanksAgreeOnWhatAllOfThemCanHave) {
    const Handle handles[] = {{.slots = 10, .large_blocks = 8}, {.slots = 20, .large_blocks = 5}};
    EXPECT_EQ(geometry_of(handles).slots, 20u);
    EXPECT_EQ(geometry_of(handles).large_blocks, 5u);
    EXPECT_EQ(large_blocks_for(3 * kLargeBytes), 0u);
    EXPECT_EQ(large_blocks_for(4 * kLargeBytes), 4u);
    EXPECT_EQ(large_blocks_for(kMoreThanEnough), 1024u);
}

TEST(NodeSegment, ANodeWithALowLimitIsLeftOut) {
    const std::uint64_t two = file_bytes(std::vector<Handle>(2, Handle{.slots = 100, .large_blocks = 8}));
    const auto handle = [&](std::uint64_t domain, std::uint64_t limit) {
        return Handle{.domain = domain, .slots = 100, .large_blocks = 8, .longest_file = limit};
    };
    // Ranks 0 and 2 share no memory because of the limit of rank 2, ranks 1 and 4 are allowed just enough, rank 3 has no memory, and rank 5
    // no other rank that it could share memory with. Three ranks need more than ranks 6 to 8 are allowed.
    std::vector<Handle> handles = {handle(5, two), handle(6, two), handle(5, two - 1), handle(0, 0),  handle(6, two),
                                   handle(7, 0),   handle(8, two), handle(8, 2 * two), handle(8, two)};
    const std::vector<TooLong> left_out = leave_out_too_long(handles);
    std::vector<std::uint64_t> domains;
    for (const Handle& each : handles) domains.push_back(each.domain);
    EXPECT_EQ(domains, (std::vector<std::uint64_t>{0, 6, 0, 0, 6, 7, 0, 0, 0}));
    ASSERT_EQ(left_out.size(), 2u);
    EXPECT_EQ(left_out[0].bytes, two);
    EXPECT_EQ(left_out[0].limit, two - 1);
    EXPECT_EQ(left_out[0].ranks, 2);
    EXPECT_EQ(left_out[0].limited, 2);
    EXPECT_GT(left_out[1].bytes, two);
    EXPECT_EQ(left_out[1].limit, two);
    EXPECT_EQ(left_out[1].ranks, 3);
    EXPECT_EQ(left_out[1].limited, 6);
}

TEST(NodeSegment, OfAProcessThatIsGoneIsAnErrorThatSaysSo) {
    Segment segment(2, kMoreThanEnough);
    Handle gone = segment.handle();
    gone.process = 0x7ffffffe;
    try {
        segment.map(gone, 3, "rank 0 on host a", {2, 4, 4}, 2);
        FAIL() << "was mapped";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::peer_failed);
        EXPECT_EQ(error.failed_rank(), 3);
        EXPECT_NE(std::string(error.what()).find("because rank 0 on host a, which created it, has ended"), std::string::npos)
            << error.what();
    }
}

// To a user who is not root, the system says of a process that is ending that its files may not be looked at.
TEST(ProcessFile, OfAProcessThatIsEndingIsNotThere) {
    constexpr int kNoFile = 1, kOtherReason = 2, kNoOtherUser = 3;
    const pid_t user = ::fork();
    if (user == 0) {
        constexpr uid_t kNobody = 65534;
        if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(kNoOtherUser);
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        siginfo_t how{};
        ::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT);
        const bool is_open = open_file_of(child, 1, O_RDONLY) >= 0;
        ::_exit(!is_open && errno == ENOENT ? kNoFile : kOtherReason);
    }
    ASSERT_GT(user, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(user, &status, 0), user);
    if (WEXITSTATUS(status) == kNoOtherUser) GTEST_SKIP() << "only root, who may look at everything, is here";
    EXPECT_EQ(WEXITSTATUS(status), kNoFile);
}

TEST(NodeSegment, WithoutABudgetThereIsNone) {
    const Segment segment(2, 0);
    EXPECT_EQ(segment.handle().domain, 0u);
    EXPECT_NE(segment.why_not().find("ROLLCALL_LANDING_BYTES"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::runtime::node
