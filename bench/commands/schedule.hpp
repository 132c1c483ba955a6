/// \file
/// `rollcall bench schedule`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `schedule`, which runs during parsing. Wrong usage throws Error{invalid_argument} with a message of one line, before
/// anything is measured.
void add_schedule_command(usage::Command& bench);

}  // namespace rollcall::bench
