#!/bin/bash
# A Slurm of four nodes on this host, for tests: munged, slurmctld and four slurmd of the distribution's packages. Each node has
# its own host name and address. All nodes share memory and processes.
#
#     unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private cluster.sh
#
# As root. All of it lives in name spaces of its own, with this script as their first process: whatever ends the script, or
# the unshare above it, ends every process, and the network, the temporary files and the shared memory go with them. Writes
# "ready" to standard output when all nodes are idle, or the reason why not; ends when standard input does.
set -u

fail() {
    echo "$*"
    tail -n 5 /run/slurm/*.log 2>/dev/null
    exit 1
}

[[ $$ == 1 ]] || fail "cluster.sh is to be the first process of its process name space: see its first lines"
for program in munged slurmctld slurmd scontrol srun; do
    command -v "$program" >/dev/null || fail "$program is not installed (packages munge, slurm-wlm)"
done

{
    ip link set lo up && ip link add nodes type veth peer name switch && ip link set switch up && ip link set nodes up
} || fail "the network name space cannot be set up"
for directory in /run /dev/shm; do
    mount -t tmpfs -o mode=755,size=256m rollcall-slurm "$directory" || fail "no tmpfs on $directory"
done
chmod 1777 /dev/shm
# The kernel's list of interfaces is that of the network name space in which it is mounted; slurmd wants its control groups.
mkdir /run/cgroup
{
    mount --rbind /sys/fs/cgroup /run/cgroup && mount -t sysfs sysfs /sys && mount --rbind /run/cgroup /sys/fs/cgroup
} || fail "the name space gets no /sys"
cp /etc/hosts /run/hosts
# slurmctld looks up where salloc and srun run, and answers nobody while it does: ten seconds if the name is not in the file.
host=$(hostname -s)
echo "127.0.0.1 $(hostname) $host" >>/run/hosts
nodes=(n0 n1 n2 n3)
for i in "${!nodes[@]}"; do
    ip address add "10.88.0.$((i + 1))/24" dev nodes || fail "no address for ${nodes[i]}"
    echo "10.88.0.$((i + 1)) ${nodes[i]}" >>/run/hosts
done
mount --bind /run/hosts /etc/hosts || fail "the nodes get no names"
mkdir -p /run/munge /run/slurm/state /run/slurm/tmp
chmod 755 /run/munge

head -c 128 /dev/urandom >/run/munge/key
chmod 400 /run/munge/key
munged --foreground --key-file=/run/munge/key --pid-file=/run/munge/pid --log-file=/run/munge/log --seed-file=/run/munge/seed \
    </dev/null >/run/slurm/munged.log 2>&1 &

cat >/run/slurm/slurm.conf <<END
ClusterName=rollcall
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool.%n
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.%n.pid
SlurmctldLogFile=/run/slurm/slurmctld.log
SlurmdLogFile=/run/slurm/slurmd.%n.log
TmpFS=/run/slurm/tmp/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=2
NodeName=n[0-3] Port=[17001-17004] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=/run/slurm/slurm.conf

for ((i = 0; i < 500; ++i)); do
    [[ -S /run/munge/munge.socket.2 ]] && break
    sleep 0.02
done
slurmctld -D -i </dev/null >/run/slurm/slurmctld.out 2>&1 &
for node in "${nodes[@]}"; do
    mkdir -p "/run/slurm/tmp/$node" "/run/slurm/spool.$node"
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --uts sh -c 'hostname "$1" && exec slurmd -D -N "$1"' slurmd "$node" </dev/null >"/run/slurm/slurmd.$node.out" 2>&1 &
done
for ((i = 0; i < 600; ++i)); do
    [[ $(sinfo --noheader --states=idle --format=%D 2>/dev/null) == 4 ]] && break
    sleep 0.1
done
((i < 600)) || fail "the nodes of Slurm do not become idle"

echo ready
while read -r _; do :; done
