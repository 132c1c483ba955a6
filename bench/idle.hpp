/// \file
/// `rollcall bench idle`: what the background threads cost while nothing is communicated.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_idle_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
