/// \file
/// `rollcall simulate tree`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `tree`, which runs during parsing. Wrong usage throws Error{invalid_argument} with a message of one line, before
/// anything is computed.
void add_tree_command(usage::Command& simulate);

}  // namespace rollcall::bench
