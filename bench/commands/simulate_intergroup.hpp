/// \file
/// `rollcall simulate intergroup_allgather`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand, which runs during parsing. Wrong usage throws Error{invalid_argument} with a message of one line, before the
/// simulation begins.
void add_intergroup_command(usage::Command& simulate);

}  // namespace rollcall::bench
