# completion.sh SCRIPT COMMAND: completes words as bash would, and compares the results. In place of the program behind `run` stands a
# directory, so that no program is started.
source "$1"
command=$2 failed=0
expect() { # WORDS... -- WANTED...
    local -a words=("$command")
    while [ "$1" != -- ]; do words+=("$1") && shift; done
    shift
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _rollcall
    [ "${COMPREPLY[*]}" = "$*" ] && return
    echo "rollcall ${words[*]:1}: '${COMPREPLY[*]}' instead of '$*'"
    failed=1
}
expect ben -- bench
expect '' -- run bench simulate tune info
expect bench allr -- allreduce
expect run --bi -- --bind-to --bind
expect run --bind-to n -- none numa
expect run --bind-to a -- auto
expect run --bind-to so -- socket
expect simulate broadcast --deco -- --decouple
expect run --fanout f -- flat
expect info --format = -- text csv json
expect info --format = j -- json
expect info --explain allr -- allreduce
expect bench loop --operation allr -- allreduce
expect bench loop --operation broadcast,allg -- broadcast,allgather
expect bench loop --transport ofi_ -- ofi_shm ofi_tcp
expect bench gather --peer mp -- mpich
expect bench gather --peer openmpi,mp -- openmpi,mpich
expect bench gather --landing e -- eager:
expect bench broadcast --algorithm linear,bino -- linear,binomial
expect bench broadcast --algorithm au -- auto
expect bench broadcast --algorithm near -- ''
expect simulate broadcast --algorithm near -- near_optimal
expect bench intergroup_allgather --algorithm full -- full_duplex
expect bench gatherv --algorithm linear_s -- linear_synchronized
expect simulate tree --trees obl -- oblivious
expect simulate reduce --predictor mov -- moving_average
expect run "$PWD" --no-such -- ''
exit $failed
