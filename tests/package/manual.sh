# manual.sh DIRECTORY COMMAND: checks that DIRECTORY has a manual page for each subcommand and no other, that a page has all options and
# subcommands that --help lists, each at the beginning of a line, and that groff finds no fault in it.
directory=$1 command=$2 failed=0 pages=0
complain() { echo "$*" && failed=1; }
check() { # SUBCOMMAND...
    local name help text word subcommands
    name=$(IFS=- && echo "rollcall${*:+-$*}")
    [ -s "$directory/$name.1" ] || { complain "there is no page $name.1" && return; }
    pages=$((pages + 1))
    text=$(groff -wmac -wchar -wsyntax -K utf8 -man -Tascii -P-cbou "$directory/$name.1" 2>&1)
    ! grep -E ': (warning|error|fatal error): ' <<<"$text" || failed=1
    help=$("$command" "$@" --help)
    subcommands=$(awk '/^Subcommands:/ { inside = 1; next } /^[^ ]/ { inside = 0 } inside && /^  [a-z]/ { print $1 }' <<<"$help")
    for word in $(awk '/^  -/ { print $1 }' <<<"$help") $subcommands; do
        awk -v word="$word" '$1 == word { found = 1 } END { exit !found }' <<<"$text" || complain "$name.1 does not explain $word"
    done
    for word in $subcommands; do check "$@" "$word"; done
}
check
set -- "$directory"/*
((pages >= 5 && $# == pages)) || complain "$# pages in $directory, and $pages subcommands"
exit $failed
