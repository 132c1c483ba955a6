#!/bin/sh
# manual.sh HELP2MAN COMMAND VERSION DIRECTORY
# Writes the manual pages of the command `rollcall` to DIRECTORY: one for each of its subcommands, made by help2man of what --help says.
set -eu
help2man=$1 version=$3 directory=$4
mkdir -p "$directory"
rm -f "$directory"/rollcall*.1
locale=--locale=C.UTF-8
"$help2man" "$locale" --version >/dev/null 2>&1 || locale=--locale=C # It was built without locales, and writes ? for what is not ASCII.
cd "$(dirname "$2")" # help2man is given a line of words, and the path of the build may have blanks.

pages() ( # [SUBCOMMAND...]
    name=$(echo rollcall "$@" | tr ' ' -)
    help=$(./rollcall "$@" --help)
    related=${*:+".BR ${name%-*} (1)"}
    for subcommand in $(printf '%s\n' "$help" | awk '/^Subcommands:/ { inside = 1; next } /^[^ ]/ { inside = 0 } inside && /^  [a-z]/ { print $1 }'); do
        pages "$@" "$subcommand"
        related="${related:+$related,
}.BR $name-$subcommand (1)"
    done
    "$help2man" --no-info "$locale" --name="$(printf '%s\n' "$help" | head -n 1)" --source="Rollcall $version" \
        --version-string="$name $version" --include=/dev/stdin --output="$directory/$name.1" "./rollcall${*:+ $*}" <<END
[SEE ALSO]
$related
END
)
pages
