#!/bin/bash
# Stands in for ssh where the launcher of an MPI library wants one: cluster-shell.sh [OPTIONS] HOST WORD... runs the words, joined as
# ssh joins them, in a shell on a host of the cluster $EMULATED_CLUSTER.
while [[ ${1-} == -* ]]; do
    case $1 in
        -[bceFiIJlLmoOpQRSwW]) shift ;;
    esac
    shift
done
host=${1?a host is missing}
shift
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/cluster.sh" exec "$host" sh -c "$*"
