/// \file
/// `rollcall bench OPERATION` for every collective operation, also of blocks of own sizes and between two groups: real ranks under arrival
/// patterns.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommands to `rollcall bench`. Errors as add_bench_command().
void add_collective_commands(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
