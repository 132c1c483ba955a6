#!/bin/bash
# Checks that sources compile alone, each with the header that it includes first: a unity build does not show a missing include. Those that
# changed last are checked, and some at random. ROLLCALL_TEST_SEED repeats a choice, ROLLCALL_TEST_ALL_SOURCES=1 checks all.
#
#     sources.sh COMPILER FLAGS-FILE SOURCE-DIRECTORY PARALLEL WITHOUT
set -u -o pipefail
compiler=$1 flags=$2 parallel=$4 without=$5
cd "$3" || exit
changed_last=24
at_random=16
seed=${ROLLCALL_TEST_SEED:-$RANDOM}
sources=$(find api bench bootstrap collectives command foundation launcher runtime support transports -name '*.cpp' | grep -vE "$without" | LC_ALL=C sort)
if [[ ${ROLLCALL_TEST_ALL_SOURCES:-0} == 1 ]]; then
    chosen=$sources
else
    # A copy without the history has no changes.
    changed=$(git log --max-count=200 --name-only --pretty= -- '*.cpp' 2>/dev/null | awk '!seen[$0]++' | grep -Fx -f <(echo "$sources") | head -n "$changed_last")
    numbers=$(awk -v seed="$seed" 'BEGIN { srand(seed); while (1) print int(rand() * 1000000) }' | head -n "$(wc -l <<<"$sources")")
    chosen=$(printf '%s\n' "$changed" "$(paste -d' ' <(echo "$numbers") <(echo "$sources") | sort -n | head -n "$at_random" | cut -d' ' -f2)" | awk 'NF && !seen[$0]++')
fi
echo "$(wc -l <<<"$chosen") of $(wc -l <<<"$sources") sources, seed $seed"
if ! xargs -P "$parallel" -I{} "$compiler" "@$flags" -fsyntax-only {} <<<"$chosen"; then
    echo "ROLLCALL_TEST_SEED=$seed repeats it. Does the source include the header of each name that it uses?"
    exit 1
fi
