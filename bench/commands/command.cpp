#include "bench/commands/command.hpp"

#include "bench/commands/bandwidth.hpp"
#include "bench/commands/barrier.hpp"
#include "bench/commands/collective.hpp"
#include "bench/commands/idle.hpp"
#include "bench/commands/intergroup_allgather.hpp"
#include "bench/commands/loop.hpp"
#include "bench/commands/overlap.hpp"
#include "bench/commands/pingpong.hpp"
#include "bench/commands/schedule.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {

void add_bench_command(usage::Command& root, int& exit_code) {
    usage::Command* const bench = root.add_subcommand("bench", "Measure operations with real ranks");
    bench->require_subcommand(1);
    bench->footer(R"(
A benchmark starts its ranks itself. Under `rollcall run -n N rollcall bench ...` it uses the ranks of that job.
csv and json have a line for each cell: operation, algorithm, transport, ranks, bytes, pattern, iterations, and the
medians with their 95 % intervals, in seconds.)");
    bench->when_named([bench, &exit_code] {
        add_collective_commands(*bench, exit_code);
        add_intergroup_allgather_commands(*bench, exit_code);
        add_pingpong_command(*bench, exit_code);
        add_bandwidth_command(*bench, exit_code);
        add_barrier_commands(*bench, exit_code);
        add_overlap_command(*bench, exit_code);
        add_loop_command(*bench, exit_code);
        add_idle_command(*bench, exit_code);
        add_schedule_command(*bench);
    });
}

}  // namespace rollcall::bench
