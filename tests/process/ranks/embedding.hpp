/// \file
/// How the rank program joins its job.
#pragma once

#include <rollcall/rollcall.hpp>

namespace rollcall::test {

/// Joins by what the environment says. If a test's starter sets ROLLCALL_TEST_EMBEDDING, joins as a part of that embedding.
Job start_job();

}  // namespace rollcall::test
