#!/bin/bash
# Builds Rollcall on a fresh Debian or Ubuntu, launches 8 ranks, and shows what comes of it. Installs the packages that are
# missing. The last line sums up; the exit code is 0 if nothing failed.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
. scripts/packages.sh
if (($#)); then
    [[ $* == --help || $* == -h ]] && sed -n '2,3s/^# //p' scripts/demo.sh && exit 0
    echo "scripts/demo.sh: unknown argument '$*'; it takes none" >&2
    exit 2
fi
packages=("${build_packages[@]}" "${plot_packages[@]}")
((EUID)) || packages+=("iproute2?")
install_packages "${packages[@]}" || exit
. scripts/stages.sh

ranks=8
rollcall=build/release/rollcall
picture=build/demo/late-ranks.svg
mkdir -p build/demo
rm -f "$picture"

build() {
    # An existing build directory keeps its options.
    local options=(-DROLLCALL_BUILD_TESTS=OFF)
    [[ -e build/release/CMakeCache.txt ]] && options=()
    configure release "${options[@]}" &&
        cmake --build --preset release --parallel "$jobs" --target rollcall_command rollcall_peers example_00_hello
}
stage 'build' build || { echo "0 passed, 1 failed: the build"; exit 1; }

# show NAME COMMAND...: prints the command and its output, and counts whether it succeeded.
show() {
    local name=$1
    shift
    printf '\n$ %s\n' "${*/#$rollcall/rollcall}"
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "$name failed"; fi
}
launch() {
    local said code=0
    said=$("$rollcall" run -n "$ranks" build/release/examples/00_hello 2>&1) || code=$?
    printf '%s\n' "$said"
    [[ $code == 0 && $(grep -c ": rank 0 says 42$" <<<"$said") == "$ranks" ]]
}

echo
echo "Eight processes, and a broadcast between them:"
printf '\n$ rollcall run -n %s build/release/examples/00_hello\n' "$ranks"
if launch; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

# The MPI libraries that were there, with their headers, when the peers were built.
peers=()
for peer in openmpi mpich; do
    [[ -x build/release/peers/collective-$peer ]] && peers+=("$peer")
done
beside=()
((${#peers[@]})) && beside=(--peer "$(IFS=,; echo "${peers[*]}")")

echo
echo "An iterative program: in each iteration, every rank computes for a random time of up to 10 ms and then calls a collective"
echo "operation. No library can be faster than the limit, the longest compute time of any rank. \"binomial, coupled\" is what"
echo "libraries usually do: a tree of messages, in calls that begin and end with their callers. Every byte is checked:"
show 'the benchmark' "$rollcall" bench loop --ranks "$ranks" --operation broadcast,gather --bytes 64Ki --compute uniform:0..10ms \
    --algorithm auto,binomial --iterations 100 --rounds 2 "${beside[@]}" --timeout 120s --plot "$picture"

# Emulated hosts are network namespaces, which root can make on most systems, but not in every container.
# shellcheck disable=SC2016 # PATH of the other shell
can_emulate='PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && tc qdisc add dev lo root tbf rate 1gbit burst 128k limit 1m'
if ((EUID == 0)) && unshare --net --mount sh -c "$can_emulate" 2>/dev/null; then
    echo
    echo "The same between 8 hosts, which are emulated on this machine and have a link of 1 Gbit/s each, with a message of 1 MiB:"
    show 'the benchmark between hosts' "$rollcall" bench loop --cluster 8 --rate 1gbit --operation broadcast --bytes 1Mi \
        --compute uniform:0..35ms --algorithm auto,binomial --iterations 40 --rounds 1 "${beside[@]}" --timeout 120s
else
    echo
    echo "Not shown: the same between emulated hosts. It needs root, iproute2, and the right to make"
    echo "network namespaces and to limit the rates of their links."
fi

if [[ -s $picture ]]; then
    passed=$((passed + 1))
    echo
    echo "The picture of it: $PWD/$picture"
    ((${#peers[@]})) || echo "Install libopenmpi-dev or libmpich-dev and build again, and the MPI library runs the same program beside Rollcall."
    echo "More: $rollcall --help, README.md, docs/architecture.md"
    echo "To install it, first build what the demonstration does not need: cmake --build --preset release"
else
    failed=$((failed + 1))
    echo "there is no picture in $picture"
fi
echo
echo "$passed passed, $failed failed: hello on $ranks ranks, iterative programs with checked data, a picture"
((failed == 0))
