#!/bin/bash
# Checks that sources compile alone, each with the header that it includes first, and so do the internal headers that no source includes
# first. A unity build does not show a missing include. Those that changed last are checked, and some at random. ROLLCALL_TEST_SEED repeats a
# choice, ROLLCALL_TEST_ALL_SOURCES=1 checks all.
#
#     alone.sh COMPILER FLAGS-FILE SOURCE-DIRECTORY PARALLEL WITHOUT
set -u -o pipefail
compiler=$1 flags=$2 parallel=$4 without=$5
cd "$3" || exit
changed_last=12
at_random=8
seed=${ROLLCALL_TEST_SEED:-$RANDOM}
folders='api bench bootstrap collectives command foundation launcher runtime support transports'
# shellcheck disable=SC2086 # several words
all=$(find $folders tests -name '*.[ch]pp') || exit
files=$(while read -r file; do
    case $file in
        tests/*.cpp) ;;
        *.cpp) echo "$file" ;;
        *) grep -m1 -s '^#include' "${file%.hpp}.cpp" | grep -qxF "#include \"$file\"" || echo "$file" ;;
    esac
done <<<"$all" | grep -vE "$without" | LC_ALL=C sort)
[[ $files ]] || { echo "there are no files in $PWD" && exit 1; }
if [[ ${ROLLCALL_TEST_ALL_SOURCES:-0} == 1 ]]; then
    chosen=$files
else
    # What is not committed, then the history. A copy without git has none of it.
    changed=$({
        git ls-files --modified --others --exclude-standard
        git diff --cached --name-only
        git log --max-count=200 --name-only --pretty= -- '*.[ch]pp'
    } 2>/dev/null | awk '!seen[$0]++' | grep -Fx -f <(echo "$files") | head -n "$changed_last")
    numbers=$(awk -v seed="$seed" -v count="$(wc -l <<<"$files")" \
        'BEGIN { srand(seed); while (count-- > 0) print int(rand() * 1000000) }')
    random=$(paste -d' ' <(echo "$numbers") <(echo "$files") | sort -n | head -n "$at_random" | cut -d' ' -f2)
    chosen=$(printf '%s\n' "$changed" "$random" | awk 'NF && !seen[$0]++')
fi
echo "$(wc -l <<<"$chosen") of $(wc -l <<<"$files") files, seed $seed"
compile() { # COMPILER FLAGS-FILE FILE
    if [[ $3 == *.hpp ]]; then
        printf '#include "%s"\n' "$3" "$3" | "$1" "@$2" -fsyntax-only -x c++ -
    else
        "$1" "@$2" -fsyntax-only "$3"
    fi || { echo "$3 does not compile alone" && return 1; }
}
export -f compile
if ! xargs -P "$parallel" -I{} bash -c 'compile "$@"' _ "$compiler" "$flags" {} <<<"$chosen"; then
    echo "ROLLCALL_TEST_SEED=$seed repeats it. Does the file include the header of each name that it uses?"
    exit 1
fi
