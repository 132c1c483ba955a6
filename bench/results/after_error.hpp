/// \file
/// What a benchmark still does after an error, before it lets the error through.
#pragma once

#include <exception>
#include <iostream>

#include "support/usage.hpp"

namespace rollcall::bench {

/// Calls `finish`, which prints or draws what was measured before the error. An error of its own goes to standard error: it must not take
/// the place of the first one.
template <class Finish>
void after_error(Finish finish) {
    try {
        finish();
    } catch (const std::exception& error) {
        std::cout.flush();
        std::cerr << "rollcall: " << usage::one_line(error.what()) << std::endl;
    }
}

}  // namespace rollcall::bench
