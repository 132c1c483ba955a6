/// \file
/// `rollcall bench overlap`: how long a send takes while its receiver computes.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_overlap_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
