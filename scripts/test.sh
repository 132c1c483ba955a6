#!/bin/bash
# Builds and tests everything on a fresh Debian or Ubuntu; installs the packages that are missing. Says one line for each
# stage, and what went wrong in full. The last line sums up; the exit code is 0 if nothing failed.
#
#     scripts/test.sh            all: GCC, Clang, address and thread sanitizers
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
$quick || packages+=("$clang_package?")
install_packages "${packages[@]}" || exit
. scripts/stages.sh

build() { # PRESET TARGETS OPTIONS...
    local preset=$1 targets=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    configure "$preset" -DROLLCALL_WERROR=ON -DROLLCALL_BUILD_TESTS=ON "$@" && cmake --build --preset "$preset" --parallel "$jobs" ${targets:+--target $targets}
}
# Ranks that wait for each other share the cores with nobody: one process test at a time, what computes alone side by side.
side_by_side() { ctest --preset "$1" -j "$jobs" --no-tests=error "${@:2}"; }
# All tests of a program in one process: with a sanitizer its start and its end take longer than most tests.
in_one() { timeout 300 "$1" --gtest_brief=1 --gtest_filter="-$2"; } # PROGRAM TESTS-LEFT-OUT
one_by_one() { ctest --preset "$1" -j 1 --no-tests=error "${@:2}"; }

if stage 'gcc build' build release '' -DROLLCALL_PRECOMPILE=ON; then
    stage 'gcc unit and model tests' side_by_side release -L 'unit|model'
    stage 'gcc process tests' one_by_one release -L process
    stage 'gcc cluster tests' one_by_one release -L cluster
    stage 'gcc package tests' one_by_one release -L package
fi

# What the sanitizers leave out because it takes long there and shows them nothing that others do not.
slow='Soak|SleepersAreWoken|MoreThanTwoGibibytes|Floods|AreWokenByNotices|ZeroLanding'
slow_unit='PipelinedTree.Spans*:BinomialTree.Spans*:FrameArena.BlocksAre*:MatchTable.DoesWhat*'
slow_model='Simulation.*:Mismatch.*:Placement.RandomLarge*:Placement.ManyCalls*:Proficz.Equations*'
tsan_targets='collectives_test point_to_point_test failures_test blocks_test'
tsan_process='Collectives|PointToPoint|Messages|Progress|Blocks|Plans'

if ! $quick; then
    # Clang also shows that every source includes what it needs (no precompiled headers) and that a static library serves.
    if command -v clang++-16 >/dev/null; then
        stage 'clang build' build clang '' -DBUILD_SHARED_LIBS=OFF -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 &&
            stage 'clang unit and package tests' side_by_side clang -L 'unit|package' -E headers
    else
        echo "clang-16 is not there: the build with Clang is left out"
    fi

    # The sanitizers look at every kind of test, not at every number of ranks.
    if stage 'asan build' build asan '' "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 -g1" -DROLLCALL_PRECOMPILE=ON -DROLLCALL_UNITY=ON -DROLLCALL_BUILD_EXAMPLES=OFF; then
        stage 'asan unit tests' in_one build/asan/tests/unit/unit_tests "$slow_unit"
        stage 'asan model tests' in_one build/asan/tests/model/model_tests "$slow_model"
        stage 'asan process tests' one_by_one asan -L process -E "$slow"
    fi
    if stage 'tsan build' build tsan "$tsan_targets" -DROLLCALL_PRECOMPILE=ON -DROLLCALL_UNITY=ON -DROLLCALL_BUILD_EXAMPLES=OFF; then
        stage 'tsan process tests' one_by_one tsan -L process -R "$tsan_process" -E "$slow"
    fi
fi

echo "all of it took $((SECONDS - begin)) s"
echo "$passed passed, $failed failed"
((failed == 0))
