/// \file
/// `rollcall info`: what Rollcall finds on this host, and what it would use.
#pragma once

namespace CLI {
class App;
}

namespace rollcall::command {

/// Adds `info` to the root command.
void add_info_command(CLI::App& root);

}  // namespace rollcall::command
