/// \file
/// What is made of libmunge's answers. tests/slurm has the real one.
#include <optional>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "bootstrap/slurm/credentials.hpp"
#include "tests/unit/bootstrap/fake_munge.hpp"

namespace rollcall::bootstrap {
namespace {

class Munge : public testing::Test {
  protected:
    void SetUp() override { *fake_munge() = {.refused_option = -1, .decode_code = 0, .writer = ::geteuid()}; }
    void TearDown() override { *fake_munge() = {}; }
};

TEST_F(Munge, GivesBackWhatThisUserHasWritten) {
    const auto credentials = munge_credentials("");
    std::string why;
    EXPECT_EQ(credentials->decode(credentials->encode("text"), why), "text");
}

TEST_F(Munge, WithoutItsRestrictionsIsNotUsed) {
    for (const int option : {0, 8, 9}) {  // the cipher, the socket, which users may decode
        fake_munge()->refused_option = option;
        try {
            munge_credentials("/run/a-socket");
            ADD_FAILURE() << "no Error was thrown for option " << option;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bootstrap);
            EXPECT_NE(std::string(error.what()).find("munge is not usable: its option"), std::string::npos) << error.what();
        }
    }
}

TEST_F(Munge, WhatItDoesNotDecodeIsNothingAndTheReasonIsSaid) {
    const auto credentials = munge_credentials("");
    const std::string credential = credentials->encode("text");
    std::string why;
    fake_munge()->decode_code = 15;
    EXPECT_EQ(credentials->decode(credential, why), std::nullopt);
    EXPECT_EQ(why, "munge says: Expired credential");
    fake_munge()->decode_code = 0;
    fake_munge()->writer = ::geteuid() + 1;
    EXPECT_EQ(credentials->decode(credential, why), std::nullopt);
    EXPECT_NE(why.find("wrote it"), std::string::npos) << why;
}

}  // namespace
}  // namespace rollcall::bootstrap
