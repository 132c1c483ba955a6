# shellcheck shell=bash disable=SC2034
# Sourced by demo.sh and test.sh: stages that say one line each, and what went wrong in full.

logs=build/logs
passed=0
failed=0
jobs=$(nproc)
mkdir -p "$logs"

# If ccache is installed, its cache stays in the source tree.
export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache}
# Without this ccache keeps nothing that is compiled with precompiled headers. No source of the project uses __DATE__ or __TIME__.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# stage NAME COMMAND...: runs the command without showing its output, which goes to a file in build/logs. If the command fails, the output
# is shown and a failure is counted. The tests that ctest ran are counted, too.
stage() {
    local name=$1 log start=$SECONDS code=0 summary='' all='' alone='' bad skipped
    log=$logs/${name// /-}.log
    shift
    [[ -t 1 ]] && printf '%-28s ...\r' "$name"
    "$@" >"$log" 2>&1 || code=$?
    if [[ $(grep -E '^[0-9]+% tests passed' "$log") =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
        bad=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
        skipped=$(grep -cE '\*\*\*Skipped' "$log")
        alone=$(grep '^passed only when run alone: ' "$log")
        [[ -n $alone ]] && bad=0
        passed=$((passed + all - bad - skipped))
        failed=$((failed + bad))
        summary="$((all - bad - skipped)) passed, $bad failed"
        ((skipped)) && summary+=", $skipped skipped"
        ((code && bad == 0)) && failed=$((failed + 1))
    elif [[ $(grep -E '^\[  PASSED  \] [0-9]+ test' "$log") =~ ([0-9]+)\ test ]]; then
        all=${BASH_REMATCH[1]} bad=0
        [[ $(grep -E '^\[  FAILED  \] [0-9]+ test' "$log") =~ ([0-9]+)\ test ]] && bad=${BASH_REMATCH[1]}
        ((code && bad == 0)) && bad=1
        passed=$((passed + all))
        failed=$((failed + bad))
        summary="$all passed, $bad failed"
        all=''
    elif ((code)); then
        failed=$((failed + 1))
        summary=failed
    else
        summary=built
    fi
    printf '%-28s %4d s  %s\n' "$name" $((SECONDS - start)) "$summary"
    [[ -n $alone ]] && echo "$alone"
    if ((code)); then
        if [[ -n $all ]]; then # A test stage: shows the output of the tests that failed.
            grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "$log" |
                grep -E -A60 '[*]{3}(Failed|Timeout|Exception|Not Run)' | head -n 300
            sed -n '/^The following tests FAILED/,$p' "$log"
        else # A build, or tests in one process: shows the errors.
            grep -E -A12 '(error:|FAILED:|CMake Error|: Failure|ERROR: )' "$log" | head -n 80
            tail -n 10 "$log"
        fi
        echo "all of it is in $log"
    fi
    return "$code"
}

configure() { # PRESET OPTIONS...
    local preset=$1
    shift
    cmake --preset "$preset" "$@"
}
