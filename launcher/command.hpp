/// \file
/// `rollcall run`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::launcher {

/// Adds the subcommand `run` to the command's parser; it runs while the parser parses, and sets `exit_code`. Wrong
/// usage throws usage::WrongUsage or Error{invalid_argument}, in one line. `root` must allow one subcommand at most
/// (require_subcommand), or a program that is called like another subcommand is taken for it.
void add_run_command(usage::Command& root, int& exit_code);

}  // namespace rollcall::launcher
