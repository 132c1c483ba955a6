/// \file
/// `rollcall bench`.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds the subcommand `bench` with its own subcommands; they run while the parser parses, and set `exit_code`. Wrong
/// usage throws usage::WrongUsage or Error{invalid_argument, invalid_setting}, in one line, before any rank is started.
void add_bench_command(usage::Command& root, int& exit_code);

}  // namespace rollcall::bench
