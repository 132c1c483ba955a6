# shellcheck shell=bash disable=SC2034
# Sourced by cluster.sh and cluster-build.sh: processes, addresses and rates.

# All hosts must fit the ports of one Linux bridge, with one port to spare.
most_hosts=1000

# The switch has a small buffer for each port. A host holds back what TCP hands down for all its flows, and drops none of it.
downlink_queue=4m
uplink_queue=16m

refuse() { echo "cluster.sh: $1" >&2; exit 2; }
fail_with() { echo "cluster.sh: $2" >&2; exit "$1"; }

need_tools() { # COMMAND[:PACKAGE]...
    local tool
    for tool in "$@"; do
        PATH=$PATH:/usr/sbin:/sbin command -v "${tool%:*}" >/dev/null ||
            fail_with 1 "the program ${tool%:*} is missing (Debian's package ${tool#*:})"
    done
}

# Sets `started` to the time at which the process began, and `condition` to its state. The start time tells a process from a later one with
# the same number.
look_at() {
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1 # Named here: in a trap, the status would be a different one.
    read -r -a fields <<<"${line##*) }"
    condition=${fields[0]}
    started=${fields[19]}
}

# Writes the number of a process and its start time to a file.
write_process() { look_at "$2" && echo "$2 $started" >"$1"; }
read_process() { { read -r process began <"$1"; } 2>/dev/null && [[ -n $process && -n $began ]]; }
is_alive() { look_at "$process" && [[ $started == "$began" && $condition != [ZX] ]]; }

# The switch is number 0. The hosts count from 1.
address_of() { address=10.77.$(($1 / 250)).$(($1 % 250 + 1)); }
hardware_address_of() { printf -v hardware_address '02:4e:53:00:%02x:%02x' $(($1 / 256)) $(($1 % 256)); }
network=10.77.0.0/16

check_rate() {
    [[ $1 == none || $1 =~ ^[1-9][0-9]{0,5}[kmg]?bit$ ]] || refuse "rate '$1'; allowed: none, or as tc has it: 100mbit, 1gbit, ..."
}

# shape_words DEVICE RATE QUEUE: sets `words` to the arguments that tc needs.
shape_words() {
    if [[ $2 == none ]]; then
        # Installs a queue that certainly exists, so that there is one to delete.
        words=(qdisc replace dev "$1" root pfifo)
        return
    fi
    # The burst is at least one packet of 64 KiB, as the network stack builds them, and at least what the link carries in a millisecond:
    # timers are no finer.
    local number=${2%%[kmg]bit} burst=131072
    case $2 in
        *kbit) ;;
        *mbit) ((number * 125 <= burst)) || burst=$((number * 125)) ;;
        *gbit) ((number * 125000 <= burst)) || burst=$((number * 125000)) ;;
    esac
    words=(qdisc replace dev "$1" root tbf rate "$2" burst "$burst" limit "$3")
}
