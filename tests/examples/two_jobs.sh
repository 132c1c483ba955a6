#!/bin/sh
# Runs the two jobs of example 12 at the same time. Arguments: the command `rollcall`, the example.
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
# A simulation that is killed leaves its invitation. The viewer finds that one first.
"$1" run -n 1 --timeout 60s "$2" simulate "$directory/invitation" >/dev/null 2>&1 &
killed=$!
while kill -0 $killed 2>/dev/null && ! [ -e "$directory/invitation" ]; do sleep 0.01; done
kill $killed
wait $killed
[ -s "$directory/invitation" ] || { echo "no invitation was left" && exit 1; }
echo left >"$directory/invitation.part"
"$1" run -n 2 --timeout 90s "$2" view "$directory/invitation" &
viewer=$!
trap 'kill $viewer 2>/dev/null; rm -rf "$directory"' EXIT
sleep 0.2
"$1" run -n 3 --timeout 90s "$2" simulate "$directory/invitation" || exit
wait $viewer
