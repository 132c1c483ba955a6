/// \file
/// `rollcall bench idle`: the cost of the background threads while nothing is communicated.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_idle_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
