/// \file
/// `rollcall bench intergroup_allgather` and `intergroup_allgatherv`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommands, which run during parsing and set `exit_code`. Wrong usage throws Error{invalid_argument} with a message of one
/// line, before any rank is started.
void add_intergroup_allgather_commands(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
