/// \file
/// How the rank program joins its job.
#pragma once

#include <rollcall/rollcall.hpp>

namespace rollcall::test {

/// By what the environment says; or, where a test's starter says so (ROLLCALL_TEST_EMBEDDING), as a part of it.
Job start_job();

}  // namespace rollcall::test
