/// \file
/// `rollcall bench barrier` and `intergroup_barrier`: the time of a barrier, compared with those of MPI libraries.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommands to `rollcall bench`. Errors as add_bench_command().
void add_barrier_commands(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
