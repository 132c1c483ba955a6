/// \file
/// `rollcall bench overlap`: how long a sender takes whose receiver computes.
#pragma once

namespace CLI {
class App;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_overlap_command(CLI::App& bench, int& exit_code);

}  // namespace rollcall::bench
