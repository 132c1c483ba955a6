/// \file
/// `rollcall bench barrier`: the time of a barrier, compared with those of MPI libraries.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_barrier_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
