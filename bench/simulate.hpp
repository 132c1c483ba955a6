/// \file
/// `rollcall simulate`.
#pragma once

namespace CLI {
class App;
}

namespace rollcall::bench {

/// Adds the subcommand `simulate` with its own subcommands; they run while the parser parses. Wrong usage throws
/// CLI::ParseError or Error{invalid_argument}, in one line.
void add_simulate_command(CLI::App& root);

}  // namespace rollcall::bench
