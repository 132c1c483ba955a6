/// \file
/// `rollcall bench broadcast`: broadcasts of real ranks under arrival patterns.
#pragma once

namespace CLI {
class App;
}

namespace rollcall::bench {

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_broadcast_command(CLI::App& bench, int& exit_code);

}  // namespace rollcall::bench
