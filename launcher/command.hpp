/// \file
/// `rollcall run`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::launcher {

/// Adds the subcommand `run` to the parser of the command. The subcommand runs during parsing and sets `exit_code`.
/// Wrong usage throws usage::WrongUsage or Error{invalid_argument}, in one line. `root` must allow at most one
/// subcommand (require_subcommand). Otherwise a program with the name of another subcommand would be taken for that
/// subcommand.
void add_run_command(usage::Command& root, int& exit_code);

}  // namespace rollcall::launcher
