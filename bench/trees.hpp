/// \file
/// `rollcall simulate tree`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `tree`, which runs while the parser parses. Wrong usage throws Error{invalid_argument} in one line, before anything
/// is computed.
void add_tree_command(usage::Command& simulate);

}  // namespace rollcall::bench
