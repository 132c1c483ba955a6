/// \file
/// `rollcall bench loop`: what an iterative program loses to the lateness of its ranks.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_loop_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
