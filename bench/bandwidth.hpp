/// \file
/// `rollcall bench bandwidth`: bytes and messages per second between pairs of ranks.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_bandwidth_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
