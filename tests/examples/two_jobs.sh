#!/bin/sh
# Runs the two jobs of example 12 at the same time. Arguments: the command `rollcall`, the example.
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
"$1" run -n 3 --timeout 90s "$2" simulate "$directory/invitation" &
"$1" run -n 2 --timeout 90s "$2" view "$directory/invitation"
view=$?
wait $! && exit $view
