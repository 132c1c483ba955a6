/// \file
/// The declarations of PMIx that the library has of its own, against those of PMIx's headers: compiled where those are
/// installed (package libpmix-dev). tests/process and tests/slurm have real servers.
#include "bootstrap/pmix_abi.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "bootstrap/pmix.hpp"

#ifdef ROLLCALL_TEST_PMIX_HEADERS
#include <pmix.h>
#endif

namespace rollcall::bootstrap {
namespace {

TEST(Pmix, ItsTypesAreThoseOfTheHeaders) {
#ifdef ROLLCALL_TEST_PMIX_HEADERS
    static_assert(sizeof(pmix::Process) == sizeof(pmix_proc_t) && offsetof(pmix::Process, rank) == offsetof(pmix_proc_t, rank));
    static_assert(sizeof(pmix::Value) == sizeof(pmix_value_t) && alignof(pmix::Value) == alignof(pmix_value_t));
    static_assert(offsetof(pmix::Value, data) == offsetof(pmix_value_t, data));
    static_assert(sizeof(pmix::Info) == sizeof(pmix_info_t) && offsetof(pmix::Info, flags) == offsetof(pmix_info_t, flags));
    static_assert(offsetof(pmix::Info, value) == offsetof(pmix_info_t, value));
    static_assert(sizeof(pmix_status_t) == sizeof(pmix::Status) && sizeof(pmix_scope_t) == 1 && sizeof(pmix_data_type_t) == 2);
    static_assert(std::is_same_v<pmix_op_cbfunc_t, pmix::Callback>);
    EXPECT_EQ(pmix::kNamespaceBytes, std::size_t{PMIX_MAX_NSLEN + 1});
    EXPECT_EQ(pmix::kKeyBytes, std::size_t{PMIX_MAX_KEYLEN + 1});
    EXPECT_EQ(pmix::kSuccess, PMIX_SUCCESS);
    EXPECT_EQ(pmix::kTimeout, PMIX_ERR_TIMEOUT);
    EXPECT_EQ(pmix::kOperationSucceeded, PMIX_OPERATION_SUCCEEDED);
    EXPECT_EQ(pmix::kRankWildcard, PMIX_RANK_WILDCARD);
    EXPECT_EQ(pmix::kScopeGlobal, PMIX_GLOBAL);
    EXPECT_EQ(pmix::kTypeBool, PMIX_BOOL);
    EXPECT_EQ(pmix::kTypeString, PMIX_STRING);
    EXPECT_EQ(pmix::kTypeInt, PMIX_INT);
    EXPECT_EQ(pmix::kTypeUint32, PMIX_UINT32);
    EXPECT_STREQ(pmix::kJobSize, PMIX_JOB_SIZE);
    EXPECT_STREQ(pmix::kCollectData, PMIX_COLLECT_DATA);
    EXPECT_STREQ(pmix::kTimeoutSeconds, PMIX_TIMEOUT);
#else
    GTEST_SKIP() << "the headers of PMIx are not installed (package libpmix-dev)";
#endif
}

TEST(Pmix, WithoutItsServerItIsAnErrorAndNoJobOfOne) {
    ::unsetenv("PMIX_NAMESPACE");
    ::setenv("PMIX_RANK", "1", 1);
    try {
        Pmix pmix(std::chrono::seconds(5));
        ADD_FAILURE() << "no Error was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_NE(std::string(error.what()).find("PMIX_NAMESPACE is not set"), std::string::npos) << error.what();
    }
    ::unsetenv("PMIX_RANK");
}

}  // namespace
}  // namespace rollcall::bootstrap
