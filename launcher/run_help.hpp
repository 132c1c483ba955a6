/// \file
/// What `rollcall run --help` says behind the list of options.
#pragma once

namespace rollcall::launcher {

inline constexpr const char* kRunFooter = R"(
rollcall run -n N [options] program [arguments] [: -n M program2 [arguments]]...

Examples:
  rollcall run -n 8 ./solver input.dat             8 processes on this host
  rollcall run -n 1 ./server : -n 4 ./client -v    one job of two programs, ranks 0 and 1 to 4
  rollcall run --hosts a:4,b:4 ./solver            8 processes on two hosts, started by ssh
  rollcall run -n 2 --env LEVEL=3 --tag-output sh -c 'echo $LEVEL'
                                                   a variable for both, and the rank at the start of each line
  rollcall run -n 4 --timeout 30s --bind-to core -- ./solver
                                                   a core for each process, and no more than 30 seconds
  rollcall run --hosts a:4,b:4 --max-failures 4 ./solver
                                                   4 processes may die, for example all on one host; the others go on
  rollcall run --hostfile hosts -n 6 --map-by node --display-map ./solver
                                                   6 processes, in turn on the hosts of the file
  rollcall run --hosts 'pod[0-3]' --agent 'kubectl exec -i {host} --' --command /opt/rollcall/bin/rollcall ./solver
                                                   agents started by another command than ssh

Options stand before the program. What follows the program belongs to it, up to a lone `:`. Variables that --env sets before
the first program are for all programs; after a `:` they are for that program.

In an allocation of Slurm, PBS, LSF or Grid Engine, the job runs on the hosts of the allocation, unless --hosts or --hostfile
names others; `--hosts localhost:4` runs 4 processes here. If all hosts belong to a Slurm allocation, srun starts the agents;
otherwise ssh does. --agent names another command.

Hosts: `a:4,b:4` or `node[0-3]:2`; a hostfile has a line for each host: `a slots=4`, `a:4` or `a`. A host without a number
has one slot. Without -n there are as many processes as slots. Every host must have the same `rollcall` command, program and
directory. An agent is started on each host by ssh without a password, or by the command of --agent, in which {host} stands
for the host. That command must not ask for anything either (`ssh -oBatchMode=yes -p 2222`). The launcher and its agents talk
only through its pipes, and open no port. The variables ROLLCALL_*, UCX_*, FI_*, OMP_*, PATH and LD_LIBRARY_PATH are passed
to other hosts; --env passes others.

Standard input goes to rank 0; the others read nothing. Output comes line by line. Another rank may continue a line only if
its rank pauses in it, takes more than 1 s for it, or ends a piece of it by a carriage return. Every process gets
ROLLCALL_BOOTSTRAP_RANK and ROLLCALL_BOOTSTRAP_SIZE in its environment.

The first process that fails ends the job. The other processes are told, and may report for the time of --grace. Then they
are asked to end (SIGTERM), and after the same time they are killed. When the command returns, no process of the job is left,
and no shared-memory file of a job in which a process failed. This holds even if the command or its guard process is killed.
docs/launching.md has the exceptions.

With --max-failures N the other processes are told of the first N failures, too, but may go on. The next failure ends the job.

Exit code: 0, or that of the failure that ended the job (128 + n if signal n killed the process); 124 after --timeout or
--launch-timeout; 125 if a host was lost; 126 or 127 if a program cannot be run or is not there; 128 + n if signal n ended
the command; 1 if the job could not begin, for example because a host cannot be reached, or if its output could not be
written; 2 for wrong usage. If --max-failures allowed all failures, it is 0 if a process has exited with code 0, and that of
the first failure otherwise.)";

}  // namespace rollcall::launcher
