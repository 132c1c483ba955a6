/// \file
/// The exit code of a job that is ended by a rank.
#pragma once

namespace rollcall {

/// Returns the exit code that a job can show for `code`. An exit status has eight bits, and 0 would mean success, so codes outside of 1 ..
/// 255 become 255.
constexpr int failure_code(int code) {
    constexpr int kHighest = 255;
    return code >= 1 && code <= kHighest ? code : kHighest;
}

}  // namespace rollcall
