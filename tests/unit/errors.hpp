/// \file
/// What tests ask of the errors that calls throw.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <rollcall/error.hpp>

namespace rollcall {

/// The Error that a call throws; a failed test when it throws none.
inline Error error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no Error was thrown";
    return Error(ErrorCode::state, "none");
}

/// The sentence, on one line, of the Error{code} that a call throws; a failed test when it throws none.
inline std::string refusal(ErrorCode code, const std::function<void()>& call) {
    const Error error = error_of(call);
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
}

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

}  // namespace rollcall
