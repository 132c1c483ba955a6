/// \file
/// `rollcall simulate`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `simulate` with its own subcommands; they run while the parser parses. Wrong usage throws
/// usage::WrongUsage or Error{invalid_argument}, in one line.
void add_simulate_command(usage::Command& root);

}  // namespace rollcall::bench
