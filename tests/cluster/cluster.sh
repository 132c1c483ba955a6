#!/bin/bash
# Several hosts on one Linux machine, for tests and measurements: each has network, mount, host-name, IPC and process namespaces
# of its own, and a link of limited rate to a common switch. Needs root. Outside its namespaces a cluster has only the directory
# /run/rollcall-cluster-NAME. All of it disappears with `down`, or when the processes that hold it end.
#
#   cluster.sh [--name NAME] up N|HOST,HOST,... [options]    make a cluster of N hosts, node0 to node<N-1>, or of these names
#       --rate RATE              of each link, both ways: 100mbit, 1gbit, ...; none (default: none)
#       --ssh                    sshd on each host; then `ssh -F STATE/ssh_config node3 ...` works from each host and from head
#       --ssh-default-limits     the same, with sshd's own limit of connections that are not logged in yet (MaxStartups)
#       --until-eof              stay in the foreground, and take the cluster down when standard input ends
#       --owner PID              take it down when this process ends
#   cluster.sh [--name NAME] down                            take it down; it is no error if there is none
#   cluster.sh [--name NAME] exec HOST COMMAND...            run a command on a host. The exit code is that of the command (128 + n
#                                                            for signal n). Signals are passed on, and the standard streams are
#                                                            those of the caller. The host `head` is the switch itself: it has a
#                                                            link without limit, and the process namespace of the caller.
#   cluster.sh [--name NAME] hosts                           the names, one in each line
#   cluster.sh [--name NAME] address HOST                    its address
#   cluster.sh [--name NAME] pid HOST                        the first process of its process namespace
#   cluster.sh [--name NAME] state                           the directory with ssh_config and other files
#   cluster.sh [--name NAME] rate HOST RATE                  change the rate of a link
#   cluster.sh [--name NAME] loss HOST PERCENT               a host loses this share of what is sent to it (needs iptables)
#   cluster.sh [--name NAME] partition HOST                  take the link down at the switch
#   cluster.sh [--name NAME] heal HOST                       take the link up again
#   cluster.sh [--name NAME] crash HOST                      as after a power failure: take the link down, kill all processes
#
# NAME (default: $EMULATED_CLUSTER, or "default") distinguishes clusters that exist at the same time. Call this script where the
# cluster was made, or on head. It refuses on the other hosts, because the processes of the cluster cannot be seen there. The files
# are those of the machine, except /proc, /sys, /dev/shm, /run, /etc/hosts and /etc/hostname. Exit code: 0; 1 if something fails; 2
# for wrong usage; 255 if the host of `exec` does not exist.
set -u

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/cluster-common.sh"

name=${EMULATED_CLUSTER:-default}
command=
while (($#)); do
    case $1 in
        --name) (($# > 1)) || refuse '--name: a name is missing'; name=$2; shift 2 ;;
        --help | -h) sed -n '2,/^set -u/{/^#/s/^# \{0,1\}//p}' "$here/cluster.sh"; exit ;;
        -*) refuse "unknown option '$1' before the command; allowed: --name NAME, --help" ;;
        *) command=$1; shift; break ;;
    esac
done
[[ $name =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$ ]] || refuse "--name '$name'; allowed: letters, digits, _ . -"
state=/run/rollcall-cluster-$name

needs() { # a command and its arguments
    (($2 == $3)) || refuse "$1 takes $3 arguments, not $2; see --help"
}

# A host of the cluster, or a container that shares the cluster's directory, sees that directory but not the processes of another process
# namespace. It would take these processes for dead.
is_up() {
    local made_in
    read_process "$state/watch" && is_alive && return
    if { read -r made_in <"$state/namespace"; } 2>/dev/null && [[ $made_in != "$(readlink /proc/self/ns/pid)" ]]; then
        fail_with 1 "the cluster '$name' was made in another process namespace than this one: call cluster.sh there, not on one of \
its hosts (if nothing of it runs any more, remove $state)"
    fi
    return 1
}

require_cluster() {
    is_up && return
    fail_with 1 "there is no cluster '$name'; make it with: $0 --name $name up N"
}

# Sets `process` to the first process of a host.
find_host() {
    require_cluster
    if [[ $1 == head ]]; then return; fi
    [[ $1 != */* && -e $state/hosts/$1 ]] || fail_with 255 "there is no host '$1' in the cluster '$name'; it has: $(paste -sd ' ' "$state/names")"
    read_process "$state/hosts/$1" && is_alive && return
    fail_with 255 "the host '$1' of the cluster '$name' has crashed"
}

# Sets `port` to the switch's end of a host's link.
find_port() {
    require_cluster
    [[ $1 != head ]] || fail_with 1 'the host head is the switch itself: it has no link of its own'
    port=$(grep -nxF -- "$1" "$state/names") || fail_with 1 "there is no host '$1' in the cluster '$name'; it has: $(paste -sd ' ' "$state/names")"
    port=v$((${port%%:*} - 1))
}

# Runs a command with the host's mounts, because programs write to /run. The programs are looked for where need_tools looks.
at_host() { PATH=$PATH:/usr/sbin:/sbin nsenter --target "$process" --net --mount -- "$@"; }

at_switch() {
    read_process "$state/watch"
    PATH=$PATH:/usr/sbin:/sbin nsenter --target "$process" --net -- "$@"
}

up() {
    local rate=none ssh=no until_eof=false owner='' hosts='' names=() index
    while (($#)); do
        case $1 in
            --rate) (($# > 1)) || refuse '--rate: a rate is missing'; rate=$2; shift ;;
            --ssh) [[ $ssh == limited ]] || ssh=yes ;;
            --ssh-default-limits) ssh=limited ;;
            --until-eof) until_eof=true ;;
            --owner) [[ ${2-} =~ ^[0-9]+$ ]] || refuse '--owner: a process id is missing'; owner=$2; shift ;;
            -*) refuse "up: unknown option '$1'; allowed: --rate, --ssh, --ssh-default-limits, --until-eof, --owner" ;;
            *) [[ -z $hosts ]] || refuse "up: '$1' after the hosts '$hosts'"; hosts=$1 ;;
        esac
        shift
    done
    if [[ $hosts =~ ^[0-9]+$ ]]; then
        [[ $hosts =~ ^0*[1-9][0-9]{0,3}$ ]] && ((10#$hosts <= most_hosts)) || refuse "up: $hosts hosts; allowed: 1 to $most_hosts"
        for ((index = 0; index < 10#$hosts; ++index)); do names+=("node$index"); done
    else
        IFS=, read -r -a names <<<"$hosts"
        ((${#names[@]} >= 1 && ${#names[@]} <= most_hosts)) || refuse "up: say how many hosts, 1 to $most_hosts, or their names"
        for index in "${names[@]}"; do
            # Many programs take a name that begins with a digit for an address.
            [[ $index =~ ^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$ && $index != head && $index != localhost ]] ||
                refuse "up: '$index' is no name for a host here; allowed: a lower-case letter, then letters, digits, -; not head, localhost"
        done
        [[ -z $(printf '%s\n' "${names[@]}" | sort | uniq -d) ]] || refuse "up: two hosts have the same name in '$hosts'"
    fi
    check_rate "$rate"
    ((EUID == 0)) || fail_with 1 "a cluster of namespaces needs root; this is user $EUID"
    need_tools unshare:util-linux nsenter:util-linux flock:util-linux setpriv:util-linux ip:iproute2 tc:iproute2 mount setsid:util-linux
    [[ $ssh == no ]] || need_tools ssh-keygen:openssh-client sshd:openssh-server

    make_room || fail_with 1 "the cluster '$name' is up already; take it down with: $0 --name $name down"
    export cluster_lock=$lock cluster_state=$state cluster_rate=$rate cluster_ssh=$ssh cluster_owner=$owner cluster_until_eof=$until_eof
    export cluster_names="${names[*]}"
    local watch=(unshare --net --mount --uts --ipc "$BASH" "$here/cluster-build.sh" watch)
    if $until_eof; then exec "${watch[@]}"; fi
    local answer=''
    answer=$(setsid "${watch[@]}" </dev/null &)
    [[ -n $answer ]] || exit 1 # The answer has said why.
    echo "$answer"
}

# Removes what is left when the watch and the switch were killed at the same moment. Returns false when the cluster is up. Otherwise no
# other process can make a cluster of this name until the lock is released. The lock is that of the directory which holds the directories
# of all clusters, so that no lock file is left behind.
make_room() {
    local attempt
    exec {lock}</run
    for ((attempt = 0; ; ++attempt)); do
        flock --timeout 60 "$lock" || fail_with 1 'another process has locked the directory /run for a minute; see: lslocks'
        ! is_up || return 1
        read_process "$state/switch" && is_alive || break
        # Without its watch, the switch ends by itself unless it is stopped, and removes the directory. It needs the lock for that.
        ((attempt < 250)) || kill -KILL "$process"
        flock --unlock "$lock"
        sleep 0.02
    done
    rm -rf -- "$state"
}

down() {
    local attempt
    if is_up; then
        kill -TERM "$process"
        for ((attempt = 0; attempt < 750; ++attempt)); do
            is_alive || break
            sleep 0.02
        done
        if is_alive; then
            kill -KILL "$process"
            echo "cluster.sh: the process that watches the cluster '$name' did not end within 15 s and was killed" >&2
        fi
    fi
    make_room || true # Another process has made it again.
}

# Runs a command in all namespaces of a host. nsenter stays as the command's parent and does not pass signals on, so this shell does. The
# command has a session of its own, so that it gets a terminal's signals once: from here.
run_on() {
    local directory=$PWD child='' code interrupted signal
    [[ -e /proc/self/fd/0 ]] || exec </dev/null
    find_host "$1"
    [[ -d /proc/$process/root$directory ]] || directory=/
    local enter=(nsenter --target "$process" --net --mount --uts --ipc --wdns="$directory")
    if [[ $1 == head ]]; then
        exec "${enter[@]}" -- "${@:2}"
    fi
    shift
    for signal in HUP INT QUIT TERM USR1 USR2; do
        # shellcheck disable=SC2064 # the signal of now
        trap "pass_on $signal" "$signal"
    done
    # A shell makes its background processes ignore these two signals.
    setsid env --default-signal=INT,QUIT "${enter[@]}" --pid -- "$@" <&0 &
    child=$!
    while :; do
        interrupted=false
        { wait "$child"; } 2>/dev/null # Otherwise the shell would report a signal here.
        code=$?
        $interrupted || exit "$code"
    done
}

# The command is the only child of nsenter.
pass_on() {
    local attempt target
    interrupted=true
    for ((attempt = 0; attempt < 100; ++attempt)); do
        [[ -n $child && -e /proc/$child ]] || return 0
        target=
        { read -r target <"/proc/$child/task/$child/children"; } 2>/dev/null
        if [[ -n $target ]]; then
            kill -s "$1" "${target% }"
            return 0
        fi
        sleep 0.01
    done
}

# Drops packets when they arrive at the host. If a packet were dropped where it is sent, its sender would know and would send it again at
# once.
lose() { # HOST PERCENT
    local percent=${2%.*} probability device=eth0
    [[ $1 != head ]] || device=br0
    printf -v probability '%03d' "$((10#$percent))"
    probability=${probability:0:1}.${probability:1}
    [[ $2 != *.* ]] || probability+=${2#*.}
    at_host iptables --flush INPUT || exit 1
    [[ $probability =~ [1-9] ]] || return 0
    at_host iptables --append INPUT --in-interface "$device" --match statistic --mode random --probability "$probability" --jump DROP ||
        exit 1
}

case $command in
    up) up "$@" ;;
    down) needs down $# 0; down ;;
    exec)
        (($# >= 2)) || refuse 'exec takes a host and a command; see --help'
        run_on "$@"
        ;;
    hosts) needs hosts $# 0; require_cluster; cat "$state/names" ;;
    address)
        needs address $# 1
        number=0
        if [[ $1 == head ]]; then
            require_cluster
        else
            find_port "$1"
            number=$((${port#v} + 1))
        fi
        address_of "$number"
        echo "$address"
        ;;
    pid) needs pid $# 1; find_host "$1"; echo "$process" ;;
    state) needs state $# 0; require_cluster; echo "$state" ;;
    rate)
        needs rate $# 2
        check_rate "$2"
        find_port "$1"
        find_host "$1"
        shape_words eth0 "$2" "$uplink_queue"
        at_host tc "${words[@]}" || exit 1
        shape_words "$port" "$2" "$downlink_queue"
        at_switch tc "${words[@]}" || exit 1
        ;;
    loss)
        needs loss $# 2
        [[ $2 =~ ^([0-9]{1,2}(\.[0-9]{1,4})?|100)$ ]] || refuse "loss: '$2'; allowed: a percentage, 0 to 100"
        need_tools iptables:iptables
        find_host "$1"
        lose "$1" "$2"
        ;;
    partition) needs partition $# 1; find_port "$1"; at_switch ip link set "$port" down || exit 1 ;;
    heal) needs heal $# 1; find_port "$1"; at_switch ip link set "$port" up || exit 1 ;;
    crash)
        needs crash $# 1
        find_port "$1"
        find_host "$1"
        # The link goes down first: a host that loses its power does not close its connections.
        at_switch ip link set "$port" down
        find_host "$1"
        kill -KILL "$process"
        while is_alive; do sleep 0.005; done
        ;;
    '') refuse 'a command is missing; see --help' ;;
    *) refuse "unknown command '$command'; allowed: up, down, exec, hosts, address, pid, state, rate, loss, partition, heal, crash" ;;
esac
