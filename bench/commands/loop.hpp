/// \file
/// `rollcall bench loop`: the time that an iterative program loses because its ranks come late.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_loop_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
