/// \file
/// `rollcall simulate intergroup_allgather`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand, which runs while the parser parses. Wrong usage throws Error{invalid_argument} in one line, before anything is
/// simulated.
void add_intergroup_command(usage::Command& simulate);

}  // namespace rollcall::bench
