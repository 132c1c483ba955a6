#!/bin/bash
# Compares what launchers leave alive: 3 hosts × 2 ranks, each rank with a grandchild in a session of its own, and something is killed,
# stopped, or cut off. Prints a row of Markdown for each event and launcher: the exit code and the seconds until the launcher
# had ended, if it had, and how many ranks and grandchildren were there two seconds later. Needs root, and what it compares:
# mpiexec.hydra (mpich), mpirun.openmpi (openmpi-bin), and for srun the daemons of Slurm (slurm-wlm, munge).
#
#   compare-launchers.sh ROLLCALL [LAUNCHER...]    ROLLCALL: the program `rollcall`; LAUNCHER: rollcall hydra mpirun srun
#
# Hosts are emulated (cluster.sh, by ssh); those of Slurm share a network, so that no link of theirs can be cut.
set -u

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
(($# >= 1)) && [[ -x $1 ]] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
rollcall=$(readlink -f "$1")
shift
launchers=("${@:-rollcall}")
(($#)) || launchers=(rollcall hydra mpirun srun)
patience=30 # Seconds. A launcher that has not ended by then hangs, or does not react.
name=compare-$$
directory=$(mktemp -d)
slurm="" slurm_input=""

# The processes are found again by these numbers in their command lines.
rank_sleep=86400.$$1 grandchild_sleep=86400.$$2
printf '%s\n' '#!/bin/sh' "setsid sleep $grandchild_sleep & exec sleep $rank_sleep" >"$directory/rank"
printf '%s\n' '#!/bin/sh' "setsid sleep $grandchild_sleep &" "trap 'kill \$!; exit 7' USR1" "sleep $rank_sleep & wait" >"$directory/failing"
printf '%s\n' '#!/bin/sh' "exec /usr/bin/ssh -F /run/rollcall-cluster-$name/ssh_config \"\$@\"" >"$directory/ssh"
chmod 755 "$directory" "$directory"/*

ids_of() { pgrep -f -x "$1"; } # Processes with exactly this command line.
ranks() { ids_of "sleep $rank_sleep"; }
grandchildren() { ids_of "sleep $grandchild_sleep"; }

clean_up() {
    local id
    for id in $(ranks) $(grandchildren); do kill -KILL "$id" 2>/dev/null; done
    "$here/cluster.sh" --name "$name" down
    if [[ $slurm ]]; then
        exec {slurm_input}>&-
        { kill -KILL "$slurm" && wait "$slurm"; } 2>/dev/null
    fi
    rm -rf "$directory"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

start_hosts() {
    "$here/cluster.sh" --name "$name" up 3 --ssh --owner $$ >/dev/null || exit
}

start_slurm() {
    local line output
    mkfifo "$directory/input" "$directory/output" || exit
    unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private "$here/../slurm/cluster.sh" \
        <"$directory/input" >"$directory/output" 2>&1 &
    slurm=$!
    exec {slurm_input}>"$directory/input" {output}<"$directory/output"
    while read -r -u "$output" line; do [[ $line == ready ]] && return; echo "$line" >&2; done
    exit 1
}

# Sets the words that start a program 6 times on 3 hosts.
words_of() { # LAUNCHER PROGRAM
    local on_head=(env "PATH=$directory:$PATH")
    case $1 in
        rollcall) words=("${on_head[@]}" "$rollcall" run --hosts 'node[0-2]:2' "$2") ;;
        hydra) words=("${on_head[@]}" mpiexec.hydra -launcher ssh -hosts node0:2,node1:2,node2:2 -n 6 "$2") ;;
        mpirun) words=("${on_head[@]}" mpirun.openmpi --allow-run-as-root --bind-to none --host node0:2,node1:2,node2:2 -n 6 "$2") ;;
        srun) words=(srun -N3 -n6 "$2") ;;
    esac
    if [[ $1 == srun ]]; then
        local spaces=/proc/$slurm/ns
        words=(nsenter --net="$spaces/net" --mount="$spaces/mnt" --pid="$spaces/pid_for_children" env SLURM_CONF=/run/slurm/slurm.conf "${words[@]}")
    else
        words=("$here/cluster.sh" --name "$name" exec head "${words[@]}")
    fi
}

# Prints the descendants of the listed processes whose command line matches.
below() { # PATTERN ID...
    local pattern=$1 id
    shift
    for id in "$@"; do
        # shellcheck disable=SC2046
        below "$pattern" $(pgrep -P "$id")
        [[ $(tr '\0' ' ' <"/proc/$id/cmdline") =~ $pattern ]] && echo "$id"
    done
}

# Prints the outermost ancestor of a process whose command line matches.
above() { # PATTERN ID
    local id=$2 found=
    while id=$(ps -o ppid= -p "$id" | tr -d ' ') && [[ $id ]] && ((id > 1)); do
        [[ $(tr '\0' ' ' <"/proc/$id/cmdline") =~ $1 ]] && found=$id
    done
    echo "$found"
}

# Chooses the rank to hit. It is on node1, which is not the launcher's own host.
victim_rank() {
    local id
    for id in $(ranks); do
        [[ $(nsenter --uts="/proc/$id/ns/uts" hostname 2>/dev/null) =~ ^(node1|n1)$ ]] && { echo "$id"; return; }
    done
}

run_cell() { # LAUNCHER EVENT
    local launcher=$1 event=$2 program=$directory/rank launched starter rank daemon begin code=- took words i id
    exec {errors}>&2 2>/dev/null # Processes may go while they are looked at, and bash reports that.
    [[ $event == 'a rank exits 7' ]] && program=$directory/failing
    words_of "$launcher" "$program"
    # A shell makes its background processes ignore SIGINT.
    env --default-signal=INT,QUIT "${words[@]}" </dev/null >"$directory/log" 2>&1 &
    launched=$!
    for ((i = 0; i < 300; ++i)); do
        (($(ranks | wc -l) == 6 && $(grandchildren | wc -l) == 6)) && break
        sleep 0.1
    done
    rank=$(victim_rank)
    case $launcher in
        rollcall) starter=$(below '^[^ ]*rollcall run ' "$launched" | tail -1) daemon=$(above '^[^ ]*rollcall agent' "${rank:-1}") ;;
        hydra) starter=$(below '^mpiexec.hydra ' "$launched") daemon=$(above '^[^ ]*hydra_pmi_proxy' "${rank:-1}") ;;
        mpirun) starter=$(below '^mpirun.openmpi ' "$launched") daemon=$(above '^[^ ]*orted' "${rank:-1}") ;;
        srun) starter=$(below '^srun ' "$launched" | tail -1) daemon=$(above '^slurmstepd' "${rank:-1}") ;;
    esac
    if [[ -z $rank || -z $starter || -z $daemon ]]; then
        echo "$launcher, $event: did not start (rank '$rank', launcher '$starter', daemon '$daemon'): $(tail -n 3 "$directory/log")" >&"$errors"
        exit 1
    fi
    begin=$EPOCHREALTIME
    case $event in
        'launcher: KILL') kill -KILL "$starter" ;;
        'launcher: TERM') kill -TERM "$starter" ;;
        'launcher: Ctrl-C') kill -INT "$starter" ;;
        'node daemon: KILL') kill -KILL "$daemon" ;;
        'node daemon: TERM') kill -TERM "$daemon" ;;
        'node daemon: STOP') kill -STOP "$daemon" ;;
        'a rank: KILL') kill -KILL "$rank" ;;
        'a rank exits 7') kill -USR1 "$(ps -o ppid= -p "$rank" | tr -d ' ')" ;;
        'a link goes down') "$here/cluster.sh" --name "$name" partition node1 ;;
    esac
    for ((i = 0; i < patience * 20; ++i)); do
        kill -0 "$launched" 2>/dev/null || break
        sleep 0.05
    done
    took=$(awk "BEGIN {printf \"%.1f\", $EPOCHREALTIME - $begin}")
    if kill -0 "$launched" 2>/dev/null; then
        code="still there after $patience s"
    else
        wait "$launched"
        code="$? after $took s"
    fi
    sleep 2
    echo "| $event | $launcher | $code | $(ranks | wc -l) | $(grandchildren | wc -l) |"
    # Removes everything that the launcher has left.
    [[ $event == 'a link goes down' ]] && "$here/cluster.sh" --name "$name" heal node1
    for id in $(below . "$launched") $daemon; do kill -CONT "$id" 2>/dev/null; kill -KILL "$id" 2>/dev/null; done
    wait "$launched" 2>/dev/null
    for id in $(ranks) $(grandchildren); do kill -KILL "$id" 2>/dev/null; done
    if [[ $launcher == srun ]]; then
        local spaces=/proc/$slurm/ns inside
        inside=(nsenter --net="$spaces/net" --mount="$spaces/mnt" --pid="$spaces/pid_for_children" env SLURM_CONF=/run/slurm/slurm.conf)
        "${inside[@]}" scancel --user root 2>/dev/null
        for ((i = 0; i < 300; ++i)); do
            [[ $("${inside[@]}" sinfo --noheader --states=idle --format=%D 2>/dev/null) == 4 ]] && break
            sleep 0.1
        done
    else
        "$here/cluster.sh" --name "$name" down
        start_hosts
    fi
    exec 2>&"$errors" {errors}>&-
}

echo '| event | launcher | ends with | ranks left | grandchildren left |'
echo '|---|---|---|---|---|'
[[ " ${launchers[*]} " =~ ' srun ' ]] && start_slurm
[[ " ${launchers[*]} " =~ ' rollcall '|' hydra '|' mpirun ' ]] && start_hosts
for event in 'launcher: KILL' 'launcher: TERM' 'launcher: Ctrl-C' 'node daemon: KILL' 'node daemon: TERM' 'node daemon: STOP' \
    'a rank: KILL' 'a rank exits 7' 'a link goes down'; do
    for launcher in "${launchers[@]}"; do
        [[ $launcher == srun && $event == 'a link goes down' ]] || run_cell "$launcher" "$event"
    done
done
