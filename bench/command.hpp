/// \file
/// `rollcall bench`.
#pragma once

namespace CLI {
class App;
}

namespace rollcall::bench {

/// Adds the subcommand `bench` with its own subcommands; they run while the parser parses, and set `exit_code`. Wrong
/// usage throws CLI::ParseError or Error{invalid_argument, invalid_setting}, in one line, before any rank is started.
void add_bench_command(CLI::App& root, int& exit_code);

}  // namespace rollcall::bench
