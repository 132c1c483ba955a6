#include "bench/command.hpp"

#include "bench/bandwidth.hpp"
#include "bench/barrier.hpp"
#include "bench/collective.hpp"
#include "bench/idle.hpp"
#include "bench/loop.hpp"
#include "bench/overlap.hpp"
#include "bench/pingpong.hpp"
#include "bench/schedule.hpp"
#include "bench/two_groups.hpp"
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
        add_two_groups_commands(*bench, exit_code);
        add_pingpong_command(*bench, exit_code);
        add_bandwidth_command(*bench, exit_code);
        add_barrier_command(*bench, exit_code);
        add_overlap_command(*bench, exit_code);
        add_loop_command(*bench, exit_code);
        add_idle_command(*bench, exit_code);
        add_schedule_command(*bench);
    });
}

}  // namespace rollcall::bench
