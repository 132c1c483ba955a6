/// \file
/// The exit code of a job that a rank ends.
#pragma once

namespace rollcall {

/// What of a code survives: an exit status has eight bits, and 0 would be success.
constexpr int failure_code(int code) {
    constexpr int kHighest = 255;
    return code >= 1 && code <= kHighest ? code : kHighest;
}

}  // namespace rollcall
