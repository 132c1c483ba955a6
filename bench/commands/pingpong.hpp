/// \file
/// `rollcall bench pingpong`: half a round trip between ranks 0 and 1.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_pingpong_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
