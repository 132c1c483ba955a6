/// \file
/// `rollcall tune`: measures what communication costs on this machine, and leaves it where jobs find it.
#pragma once

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Adds `tune` to the root command. Errors as add_bench_command().
void add_tune_command(usage::Command& root, int& exit_code);

}  // namespace rollcall::bench
