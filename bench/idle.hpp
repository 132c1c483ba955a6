/// \file
/// `rollcall bench idle`: what the background threads cost while nothing is communicated.
#pragma once

namespace CLI {
class App;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_idle_command(CLI::App& bench, int& exit_code);

}  // namespace rollcall::bench
