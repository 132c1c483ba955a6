/// \file
/// `rollcall simulate`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `simulate` with its own subcommands. They run during parsing. Wrong usage throws usage::WrongUsage or
/// Error{invalid_argument} with a message of one line.
void add_simulate_command(usage::Command& root);

}  // namespace rollcall::bench
