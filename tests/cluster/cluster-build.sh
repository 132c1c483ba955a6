#!/bin/bash
# What cluster.sh starts, not for users: the processes that a cluster is held by.
#
#   watch    in namespaces of its own (the host `head`), but in the process namespace of the caller. Ends the cluster when it is
#            asked to, or when the process that it is for has ended.
#   switch   the first process of a process namespace that all hosts are nested in, so that nothing outlives it.
#   host     the first process of the namespaces of one host.
#
# How they end: when the watch ends, even by SIGKILL, the switch ends, because the watch is the only writer of its standard input.
# When the switch has ended, the watch ends. Either removes the directory. If both are killed at once it stays, and the next `up`
# or `down` removes it. Only the process that has locked /run makes or removes the directory. `up` hands its lock down.
# shellcheck disable=SC2154,SC2015
set -u
shopt -s nullglob

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/cluster-common.sh"

# Variables from outside: cluster.sh sets cluster_....
state=$cluster_state
read -r -a names <<<"$cluster_names"
PATH=$PATH:/usr/sbin:/sbin

fail() { echo "$1" >&2; exit 1; }

# Another caller that makes a cluster of this name waits until the lock is released, that is, until this process and its children have
# ended.
remove_directory() {
    flock --timeout 30 "$cluster_lock"
    ! mountpoint -q "$state/new" || umount -n --lazy "$state/new"
    rm -rf -- "$state"
}

# A directory that consists of several mounts is assembled in $state/new.
mount_system_files() {
    mount -n -t sysfs sysfs "$state/new" || fail 'sysfs cannot be mounted'
    if [[ -d /sys/fs/cgroup && -d $state/new/fs/cgroup ]]; then mount -n --rbind /sys/fs/cgroup "$state/new/fs/cgroup" || fail 'no control groups'; fi
    mount -n --move "$state/new" /sys || fail '/sys cannot be mounted'
    mount -n -t tmpfs -o mode=1777 tmpfs /dev/shm || fail '/dev/shm cannot be mounted'
    mount -n --bind "$state/etc/hosts" /etc/hosts || fail '/etc/hosts cannot be mounted'
    if [[ -e /etc/hostname ]]; then mount -n --bind "$state/etc/hostname.$1" /etc/hostname || fail '/etc/hostname cannot be mounted'; fi
    echo "$1" >/proc/sys/kernel/hostname
}

configure_network() {
    local file
    for file in /proc/sys/net/ipv6/conf/{all,default}/disable_ipv6; do
        [[ ! -e $file ]] || echo 1 >"$file"
    done
    # The kernel limits the memory of TCP sockets for all namespaces together. Without smaller limits for each socket, connections from all
    # hosts to all hosts reach that limit. Then segments are dropped, and connections stall for a minute.
    echo '4096 16384 262144' >/proc/sys/net/ipv4/tcp_wmem
    echo '4096 131072 524288' >/proc/sys/net/ipv4/tcp_rmem
}

# On these links, Cubic does a little better than BBR. Inside a namespace only a route can select it.
route() { # DEVICE ADDRESS
    local available congestion=
    read -r available </proc/sys/net/ipv4/tcp_available_congestion_control
    [[ " $available " != *' cubic '* ]] || congestion='congctl cubic'
    echo "route change $network dev $1 proto kernel scope link src $2 $congestion"
}

# ---------------------------------------------------------------------------------------------------------------- watch

write_files() {
    local index
    mkdir "$state"/{etc,hosts,new,ssh}
    printf '%s\n' "${names[@]}" >"$state/names"
    {
        echo '127.0.0.1 localhost'
        for ((index = 0; index <= ${#names[@]}; ++index)); do
            address_of "$index"
            if ((index == 0)); then echo "$address head"; else echo "$address ${names[index - 1]}"; fi
        done
    } >"$state/etc/hosts"
    for index in head "${names[@]}"; do echo "$index" >"$state/etc/hostname.$index"; done
    # The entries are permanent: all namespaces share one neighbour table, and it is too small for entries from every host to every host.
    for ((index = 0; index <= ${#names[@]}; ++index)); do
        address_of "$index"
        hardware_address_of "$index"
        echo "neigh replace $address lladdr $hardware_address dev eth0 nud permanent"
    done >"$state/neighbours"
}

write_ssh_files() {
    local index directory=$state/ssh user
    user=$(id -un)
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$directory/host_key" && ssh-keygen -q -t ed25519 -N '' -C '' -f "$directory/key" ||
        fail 'ssh-keygen failed'
    cp "$directory/key.pub" "$directory/authorized_keys"
    echo "cluster $(<"$directory/host_key.pub")" >"$directory/known_hosts"
    cat >"$directory/sshd_config" <<END
Port 22
HostKey $directory/host_key
AuthorizedKeysFile $directory/authorized_keys
PidFile /run/sshd.pid
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
END
    # A bash that finds that sshd started it would read the account's .bashrc, which may do anything. SHLVL=1 prevents this.
    echo 'SetEnv SHLVL=1' >>"$directory/sshd_config"
    [[ $cluster_ssh == limited ]] || echo 'MaxStartups 10000' >>"$directory/sshd_config"
    # All hosts share the processors of one machine. The default key exchange would use them for 80 ms on each side.
    cat >"$state/ssh_config" <<END
Host *
    User $user
    Port 22
    IdentityFile $directory/key
    IdentitiesOnly yes
    UserKnownHostsFile $directory/known_hosts
    GlobalKnownHostsFile /dev/null
    HostKeyAlias cluster
    StrictHostKeyChecking yes
    KexAlgorithms curve25519-sha256
    BatchMode yes
    LogLevel ERROR
END
    for ((index = 0; index < ${#names[@]}; ++index)); do
        address_of $((index + 1))
        printf 'Host %s\n    HostName %s\n' "${names[index]}" "$address"
    done >>"$state/ssh_config"
    # Without PAM, sshd does not let users log in to a locked account.
    if grep -q "^$user:!" /etc/shadow 2>/dev/null; then
        (umask 077 && sed "s/^$user:!\+[^:]*:/$user:*:/" /etc/shadow >"$directory/shadow")
    fi
}

take_down() {
    local helper
    trap '' TERM INT HUP QUIT USR1
    [[ -z ${life-} ]] || exec {life}>&-
    for helper in "${helpers[@]}"; do kill "$helper" 2>/dev/null; done
    # The switch has nothing to do that takes long, so it answers unless it is stopped.
    if [[ -n $switch ]] && ! wait_for_switch; then
        kill -KILL "$switch"
        forced=true
    fi
    [[ -z $switch ]] || wait "$switch"
    remove_directory
    if $forced; then exit 1; fi
}

wait_for_switch() {
    local attempt
    process=$switch
    look_at "$switch" || return 0
    began=$started
    for ((attempt = 0; attempt < 250; ++attempt)); do
        is_alive || return 0
        sleep 0.02
    done
    return 1
}

watch() {
    local answer line own_start
    switch='' helpers=() forced=false
    umask 022
    mkdir -m 700 "$state" 2>/dev/null || fail "cluster.sh: $state is there already"
    trap take_down EXIT
    trap 'exit 0' USR1
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 131' QUIT
    trap 'exit 143' TERM
    trap : PIPE # The process that waits for the cluster may have gone.
    readlink /proc/self/ns/pid >"$state/namespace"
    write_process "$state/watch" $$
    own_start=$started
    : >"$state/log"
    mkfifo "$state/life" "$state/answer"
    # Both are opened for reading and writing before the fork. So neither process waits for the other to open them: this process may be
    # killed in between.
    exec {life}<>"$state/life" {both}<>"$state/answer"
    unshare --pid --fork --kill-child "$BASH" "$here/cluster-build.sh" switch \
        <"$state/life" >"$state/answer" 2>>"$state/log" {life}>&- {both}>&- &
    switch=$!
    exec {answer}<"$state/answer" {both}>&-
    write_files
    [[ $cluster_ssh == no ]] || write_ssh_files
    mount_system_files head
    echo begin >&"$life"
    line=
    read -r -t 60 -u "$answer" line
    exec {answer}<&-
    [[ $line == ready ]] || fail "cluster.sh: the cluster cannot be made: $(tail -n 3 "$state/log" | paste -sd ' ')"
    echo "$state: ${#names[@]} hosts, ${names[0]} to ${names[-1]}" || exit 1
    exec >/dev/null 2>&1
    [[ $cluster_until_eof != true ]] || help until_end_of_input
    [[ -z $cluster_owner ]] || help until_end_of "$cluster_owner"
    exec </dev/null
    wait "$switch"
    exit 137 # It was killed.
}

# A helper process waits for an event and then asks the watch to end. It ends with the watch.
help() {
    setpriv --pdeathsig KILL "$BASH" "$here/cluster-build.sh" helper $$ "$own_start" "$@" <&0 {life}>&- {cluster_lock}<&- &
    helpers+=($!)
}

helper() {
    process=$1 began=$2
    if is_alive; then "${@:3}"; fi
    if is_alive; then kill -USR1 "$process"; fi
}

until_end_of_input() {
    local LC_ALL=C
    while read -r -N 4096 _; do :; done
}

until_end_of() {
    local owner=$1 owner_began
    look_at "$owner" || return 0
    owner_began=$started
    while look_at "$owner" && [[ $started == "$owner_began" && $condition != [ZX] ]]; do sleep 0.1; done
}

# --------------------------------------------------------------------------------------------------------------- switch

# The switch shares the namespaces of the watch, except the process namespace.
switch() {
    local index line number go ready words address hardware_address
    number=${#names[@]}
    read -r process _ </proc/self/stat # Its number in the caller's process namespace, which is what /proc shows here.
    write_process "$state/switch" "$process"
    flock --unlock "$cluster_lock" # From here on, both processes that hold the cluster can be found.
    trap wait_for_watch EXIT
    trap : PIPE # The reader of the answer may have gone.
    read -r line && [[ $line == begin ]] || exit 1
    configure_network
    address_of 0
    hardware_address_of 0
    {
        echo 'link set lo up'
        echo "link add br0 address $hardware_address type bridge forward_delay 0 stp_state 0 mcast_snooping 0"
        echo "addr add $address/16 dev br0"
        echo 'link set br0 up'
        route br0 "$address"
        sed 's/dev eth0/dev br0/' "$state/neighbours"
    } | ip -batch - || fail 'the switch cannot be made'

    mkfifo "$state/go" "$state/ready"
    exec {go}<>"$state/go" {ready}<>"$state/ready"
    for ((index = 1; index <= number; ++index)); do
        unshare --net --mount --uts --ipc --pid --fork --kill-child "$BASH" "$here/cluster-build.sh" host "$index" \
            <&$go >&$ready {go}<&- {ready}>&- {cluster_lock}<&- &
    done
    collect "$number"
    for ((index = 1; index <= number; ++index)); do
        hardware_address_of "$index"
        read_process "$state/hosts/${names[index - 1]}" || process=gone # ip then says that it cannot be found
        # The path is that of /proc here. A number would be understood in the process namespace of the switch by the kernel, and in /proc by
        # later versions of ip.
        echo "link add eth0 netns /proc/$process/ns/net address $hardware_address type veth peer name v$((index - 1))"
        echo "link set v$((index - 1)) master br0 up"
    done | ip -batch - || fail 'the links cannot be made'
    [[ $cluster_rate == none ]] ||
        for ((index = 0; index < number; ++index)); do
            shape_words "v$index" "$cluster_rate" "$downlink_queue"
            echo "${words[*]}"
        done | tc -batch - || fail 'the rate of the links cannot be limited'
    for ((index = 1; index <= number; ++index)); do echo; done >&$go
    collect "$number"
    # A port forwards only some moments after its link has come up.
    for ((index = 0; index < number; ++index)); do
        until_true 30 port_forwards "v$index" || fail "the link of ${names[index]} does not come up"
    done
    exec {go}<&- {ready}<&-
    echo ready
}

# If the cluster could not be made, the watch first reads the reason. A line other than `ready` tells the watch so.
wait_for_watch() {
    echo 2>/dev/null
    exec >/dev/null
    read -r _
    remove_directory
}

# Reads one line from each host.
collect() {
    local index line
    for ((index = 0; index < $1; ++index)); do
        read -r -t 30 -u "$ready" line || fail 'a host does not answer'
        [[ $line == ok ]] || fail "the host $line cannot be made"
    done
}

port_forwards() {
    local port_state
    { read -r port_state <"/sys/class/net/$1/brport/state"; } 2>/dev/null && [[ $port_state == 3 ]]
}

until_true() { # SECONDS CONDITION...
    local attempts=$(($1 * 100))
    shift
    for (( ; attempts > 0; --attempts)); do
        "$@" && return
        sleep 0.01
    done
    return 1
}

# ----------------------------------------------------------------------------------------------------------------- host

host() {
    local index=$1 host=${names[$1 - 1]} words process run=$state/new
    # shellcheck disable=SC2064 # the name of now
    trap "echo $host" EXIT
    read -r process _ </proc/self/stat
    write_process "$state/hosts/$host" "$process"
    mount_system_files "$host"
    if [[ -e $state/ssh/shadow ]]; then mount -n --bind "$state/ssh/shadow" /etc/shadow || fail '/etc/shadow cannot be mounted'; fi
    # The host gets a /run of its own. The cluster's directory stays visible in it.
    mount -n -t tmpfs -o mode=755 tmpfs "$run" && mkdir "$run/${state#/run/}" "$run/lock" "$run/sshd" &&
        mount -n --bind "$state" "$run/${state#/run/}" && mount -n --move "$run" /run || fail '/run cannot be mounted'
    mount -n -t proc proc /proc || fail '/proc cannot be mounted'
    configure_network
    echo ok

    read -r _
    address_of "$index"
    {
        printf '%s\n' 'link set lo up' "addr add $address/16 dev eth0" 'link set eth0 up'
        route eth0 "$address"
    } | ip -batch - && ip -batch "$state/neighbours" || fail 'the network cannot be configured'
    if [[ $cluster_rate != none ]]; then
        shape_words eth0 "$cluster_rate" "$uplink_queue"
        tc "${words[@]}" || fail 'the rate of the link cannot be limited'
    fi
    if [[ $cluster_ssh != no ]]; then
        "$(command -v sshd)" -f "$state/ssh/sshd_config" -o "ListenAddress=$address" -E /run/sshd.log </dev/null >/dev/null ||
            fail 'sshd cannot be started'
        until_true 30 test -e /run/sshd.pid || fail "sshd does not start: $(paste -sd ' ' /run/sshd.log)"
    fi
    echo ok
    trap - EXIT
    # A process that ignores SIGCHLD need not reap the orphans that the kernel gives to the first process of a namespace.
    trap '' CHLD
    exec -a "rollcall-cluster $host" sleep infinity </dev/null >/dev/null 2>&1
}

"$@"
