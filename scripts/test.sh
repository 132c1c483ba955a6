#!/bin/bash
# Builds and tests everything on a fresh Debian or Ubuntu; installs the packages that are missing. Says one line for each
# stage, and what went wrong in full. The last line sums up; the exit code is 0 if nothing failed.
#
#     scripts/test.sh            all: with GCC, and with Clang and its address, undefined-behaviour and thread sanitizers
#     scripts/test.sh --quick    GCC and its tests only
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
. scripts/packages.sh

quick=false
case "$*" in
    '') ;;
    --quick) quick=true ;;
    --help | -h) sed -n '2,7s/^# \{0,1\}//p' scripts/test.sh; exit 0 ;;
    *) echo "scripts/test.sh: unknown argument '$*'; allowed: --quick" >&2; exit 2 ;;
esac

begin=$SECONDS
packages=("${build_packages[@]}" "${test_packages[@]}")
$quick || packages+=("${clang_packages[@]}")
install_packages "${packages[@]}" || exit
. scripts/stages.sh

build() { # PRESET TARGETS OPTIONS...
    local preset=$1 targets=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    configure "$preset" -DROLLCALL_WERROR=ON -DROLLCALL_BUILD_TESTS=ON "$@" &&
        cmake --build --preset "$preset" --parallel "$jobs" ${targets:+--target $targets}
}
# begin COMMAND...: begins what a later stage finishes. It runs beside the stages between, with what they leave of the cores: test processes
# spend most of their time waiting, for each other or for time to pass. What is begun runs in the order in which it was begun, one after the
# other. So it must not depend on time.
begun=()
begun_as=()
begin() {
    local number=${#begun[@]}
    rm -f "$logs/begun-$number.code"
    set -m # a process group, so that it can be ended with all that it has started
    {
        renice -n 19 -p "$BASHPID" >/dev/null
        while ((number > 0)) && [[ ! -e $logs/begun-$((number - 1)).code ]]; do sleep 0.2; done
        "$@"
        echo $? >"$logs/begun-$number.code"
    } >"$logs/begun-$number.log" 2>&1 &
    begun[number]="$*"
    begun_as[number]=$!
    set +m
    trap end_begun EXIT
}
end_begun() {
    local group
    for group in "${begun_as[@]}"; do kill -- "-$group" 2>/dev/null; done
}
# finish COMMAND...: waits for the end of what was begun, or runs it if it was not begun.
finish() {
    local number
    for number in "${!begun[@]}"; do
        [[ ${begun[number]} == "$*" ]] || continue
        wait "${begun_as[number]}"
        unset "begun_as[number]"
        cat "$logs/begun-$number.log"
        return "$(<"$logs/begun-$number.code")"
    done
    "$@"
}
side_by_side() { ctest --preset "$1" -j "$jobs" --no-tests=error "${@:2}"; }
# Many of these tests can run at once, because they wait most of the time. Tests that measure run alone (RUN_SERIAL). If a few tests fail,
# they are run again, alone, and are named: a success then means that the machine was too busy the first time. A finding of a sanitizer still
# counts as a failure.
oversubscribed() {
    local again=build/logs/again.log
    ctest --preset "$1" -j $((2 * jobs)) --no-tests=error "${@:2}" && return
    (($(wc -l <"build/$1/Testing/Temporary/LastTestsFailed.log") <= 3)) || return 8
    grep -qE 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|: runtime error: ' "build/$1/Testing/Temporary/LastTest.log" && return 8
    wait # for what was begun
    # With the same arguments, because the tests that ctest leaves out do not count in its numbers.
    ctest --preset "$1" --rerun-failed "${@:2}" >"$again" 2>&1 || { cat "$again"; return 8; }
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.+ +Passed .*/passed only when run alone: \1/p' "$again"
}
# Runs all tests of a program, many of them in each process: the start and the end of a process take longer than most tests. There are more
# shards than cores, so that all cores are busy until the end. Two more than there are cores run at a time, because some tests wait. A test in
# which a process hangs or crashes is named and counts as failed.
in_shards() { # PROGRAM TESTS-LEFT-OUT
    local code=0 log=$logs/shard${1//\//-} shards=$((4 * jobs))
    rm -f "$log"-*.log
    # shellcheck disable=SC2016 # the inner shell's
    seq 0 $((shards - 1)) | GTEST_TOTAL_SHARDS=$shards xargs -P $((jobs + 2)) -I{} sh -c \
        'GTEST_SHARD_INDEX={} timeout 900 "$0" --gtest_filter="-$1" >"$2-{}.log" 2>&1' "$1" "$2" "$log" || code=1
    awk 'function end_of_file() {
             if (running != "") { print "[  FAILED  ] " running " did not end: Failure"; failed++ }
             running = ""
         }
         FNR == 1 { end_of_file() }
         /^\[ RUN      \]/ { running = $4 }
         / ms\)$/ && /^\[(       OK |  FAILED  |  SKIPPED )\]/ { running = ""; passed += / OK /; failed += / FAILED / }
         END { end_of_file(); printf "[  PASSED  ] %d tests.\n", passed; if (failed) printf "[  FAILED  ] %d tests\n", failed }' "$log"-*.log
    grep -hvE '^(\[( RUN      |       OK |-+|=+)\].*|)$' "$log"-*.log
    return "$code"
}

# Tests that run in the process that the address sanitizer watches. Its stacks are as small as those of process tests
# (tests/process/CMakeLists.txt): otherwise it walks thirty frames up for each of many small allocations.
with_small_stacks() { ASAN_OPTIONS=max_uar_stack_size_log=16:min_uar_stack_size_log=16:malloc_context_size=10 "$@"; }

sanitizer=()
compiler=clang
if ! $quick && ! echo 'int main() {}' | clang++-16 -fsanitize=address,undefined -x c++ - -o build/sanitizer_probe 2>/dev/null; then
    compiler=gcc
    sanitizer=(-DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc)
    echo "clang-16 with its sanitizers (libclang-rt-16-dev) is not there: GCC's are used, and nothing is built with Clang"
fi
rm -f build/sanitizer_probe

# The library and the command are built as users have them: optimised, several sources at a time. The tests run only once, so they are built
# in the way that takes the least time.
unity=(-DROLLCALL_UNITY=ON)
# More sources at a time take a fifth less processor time, and up to 2.3 GB for a compiler.
batch=20
collector=''
if (($(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo) >= 3000 * jobs)); then
    batch=80
    # GCC collects its garbage from 1 GB on only. That takes a twentieth less time, and up to a fifth more memory.
    collector=' --param=ggc-min-heapsize=1000000'
fi
unity+=("-DROLLCALL_UNITY_BATCH=$batch")
# No test looks at debug information, which takes a tenth of the time of a build. The presets have it.
release=(release '' -DROLLCALL_PRECOMPILE=ON "${unity[@]}" "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG$collector"
         -DROLLCALL_TEST_FLAGS=-O0)
# Sanitizers name the functions of a finding also without it. With a static library. Most jobs in which a process dies start a symbolizer,
# for the leaks of UCX (tests/lsan.supp). Without debug information addr2line needs a third of the time that LLVM's needs.
asan=(asan '' "${sanitizer[@]}" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 -DBUILD_SHARED_LIBS=OFF -DROLLCALL_PRECOMPILE=ON
      -DROLLCALL_BUILD_EXAMPLES=OFF "${unity[@]}" -DROLLCALL_TEST_COMMAND="$PWD/build/release/rollcall"
      -DROLLCALL_SYMBOLIZER="$(type -P addr2line)")
# Data races are possible only among the threads of a rank. The command has one thread, so the command of the first build is used.
tsan=(tsan process_tests "${sanitizer[@]}"
      -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DROLLCALL_TEST_FLAGS=-O0 -DROLLCALL_PRECOMPILE=ON "${unity[@]}" -DROLLCALL_BUILD_EXAMPLES=OFF
      -DROLLCALL_TEST_COMMAND="$PWD/build/release/rollcall")
tsan_process='(^|/)(Collectives|PointToPoint|Messages|Progress|Operations|Plans|EventLoop|Service|GivenUp|GivingUp|OnItsWay|RandomPrograms)[./]'
# Without threads of its own and without one of the library a rank has no second thread. And a rank that is alone has the same threads as one
# of several.
no_second_thread='(Plans|PointToPoint)[.]WithHostDrivenProgress|Progress[.]InAnEventLoop|RandomPrograms[.].*/HostDriven'
no_second_thread+='|Operations[.](EveryAlgorithm|PlansWithEveryKindOfPhase|SeveralAtOnce)/1|[.].*WithHostDrivenProgress/1'
# Threads meet in the lane, which is the same over every transport of UCX. Shared memory and libfabric stay.
no_races_of_tcp='(PointToPoint|Messages|GivenUp|GivingUp|OnItsWay|Broadcast|EventLoop|Collectives)[./].*[^i]_tcp$'

# Tests that the sanitizer stages leave out: they take long there and cover nothing that other tests do not cover.
slow='TheTablesOfTrees|Soak|SleepersAreWoken|MoreThanTwoGibibytes|Floods|AreWokenByNotices|ZeroLanding'
# The programs of MPI libraries, which no sanitizer watches.
unwatched='BenchPeers[.](EveryOperationIsChecked|TheyStopAfterTheSameTime)'
slow_unit='BinomialTree.Spans*:FrameArena.BlocksAre*:MatchTable.DoesWhat*:LateGroup.ReducesToAll*:StoreThenLook.TwoThreads*'
slow_unit+=':Circulant.*:GroupTrees.TheChosenWay*:UnorderedTrees.NoTree*:StragglerAllreduce.*:PredictedEnd.*'
slow_model='Foresight.IsCheap*:Segments.EveryDistribution*:Segments.RanksFind*:Simulation.*:Placement.RandomLarge*:Proficz.Equation*'
slow_model+=':NodeMemory.RoomThatOther*:Circulant*.TakesTheLeast*:Clocks.Again*:Intergroup.ImprovementsOfThePaper'
# Tests of the benchmarks that go through the same code as others, with other words.
same_code='BenchCommand[.](EachNumberOfRanks|EachLanding|ProvidersOf|NumbersOfRanks|TextFits|TimeIsDrawn|PlainBenchmarks|OtherOperations|RefusesWrong)'
same_code+='|BenchPeers[.](TheyAlsoGather|EachNumber|PlainBenchmarks|BlocksOf|BetweenTwo)|Tune[.](MakesTheFile|OnlyRankZero|RefusesIn)'
# Algorithms, settings and starters do the same over every transport, so under sanitizers they run over one. The tests of messages, deaths
# and calls that are given up, those of collectives in general, and the transport tests run over all.
once='(Operations|Plans|Blocks|Exchanges|SeveralNodes|Intercommunicators|Barriers|Communicators|Progress|Settings|Causes|Mismatches'
once+='|WrongUse|BadInput|Starters|ByTheirOwnMeans|ProcessManagers|Clocks|RandomPrograms)[.].*_tcp$'
once+='|(Collectives|Messages)[.].*_ofi$'
# So are the budgets of early messages, the end of a job with calls under way, and two jobs, but for their data, deaths and losses.
once+='|(EarlyMemory|AtTheEnd|UnderWay|Leaving)[.].*_tcp$'
once+='|Deaths[.]OfPartsThatRun.*_tcp$'
once+='|TwoJobs[.](ExchangeWithout|MoveThe|HaveOne|Connect|EndInAny|SayWhy).*_tcp$'

gcc_model_tests=(in_shards build/release/tests/model/model_tests '')
# ctest keeps its results in the directory of the tests. These run beside other tests, so they have a directory of their own.
gcc_package_tests=(ctest --test-dir build/release/tests -L package -j "$jobs" --no-tests=error --output-on-failure)
if stage 'gcc build' build "${release[@]}"; then
    begin "${gcc_model_tests[@]}"
    begin "${gcc_package_tests[@]}"
    $quick || begin build "${asan[@]}"
    stage 'gcc unit tests' in_shards build/release/tests/unit/unit_tests ''
    stage 'gcc transport tests' in_shards build/release/tests/transport/transport_tests ''
    stage 'gcc tests of processes' oversubscribed release -L 'process|cluster'
    stage 'gcc model tests' finish "${gcc_model_tests[@]}"
    stage 'gcc package tests' finish "${gcc_package_tests[@]}"
else
    quick=true # the command of this build starts the ranks of all others
fi

if ! $quick; then
    # With sanitizers every kind of test is run, but not every number of ranks.
    asan_model_tests=(with_small_stacks in_shards build/asan/tests/model/model_tests "$slow_model")
    if stage "$compiler asan build" finish build "${asan[@]}"; then
        begin build "${tsan[@]}"
        begin "${asan_model_tests[@]}"
        stage 'asan unit tests' with_small_stacks in_shards build/asan/tests/unit/unit_tests "$slow_unit"
        stage 'asan transport tests' with_small_stacks in_shards build/asan/tests/transport/transport_tests ''
        stage 'asan process tests' oversubscribed asan -L process -E "$slow|$unwatched|$once|$same_code"
        stage 'asan package tests' side_by_side asan -L package
        has_asan=true
    fi
    if stage "$compiler tsan build" finish build "${tsan[@]}"; then
        stage 'tsan process tests' oversubscribed tsan -L process -R "$tsan_process" -E "$slow|$once|$no_races_of_tcp|$no_second_thread"
    fi
    ${has_asan:-false} && stage 'asan model tests' finish "${asan_model_tests[@]}"
fi

echo "all of it took $((SECONDS - begin)) s"
echo "$passed passed, $failed failed"
((failed == 0))
