/// \file
/// `rollcall bench`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `bench` with its own subcommands. A subcommand runs during parsing and sets `exit_code`. Wrong usage throws
/// usage::WrongUsage, Error{invalid_argument} or Error{invalid_setting} with a message of one line, before any rank is started.
void add_bench_command(usage::Command& root, int& exit_code);

}  // namespace rollcall::bench
