/// \file
/// `rollcall info`: what Rollcall finds on this host, and what it would use.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::command {

/// Adds `info` to the root command.
void add_info_command(usage::Command& root);

}  // namespace rollcall::command
