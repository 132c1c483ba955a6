# shellcheck shell=bash disable=SC2034
# Sourced by demo.sh and test.sh: the packages of Debian 12, Debian 13 and Ubuntu 24.04 (and later) that Rollcall needs, and their
# installation. Does nothing, and needs no network, when all are there.

build_packages=(g++ cmake ninja-build pkg-config libucx-dev libfabric-dev libhwloc-dev libsodium-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
                libfftw3-dev libhwy-dev libboost-dev)
plot_packages=(gnuplot-nox)
# The Debian package is made with dpkg-dev and file.
test_packages=(libgtest-dev gnuplot-nox doxygen help2man groff-base dpkg-dev file "mpich?" "openmpi-bin?" "libpmix-dev?")
# For the tests on emulated hosts and those that start a Slurm of their own. Only root can run these tests.
((EUID)) || test_packages+=(iproute2 openssh-client openssh-server procps "iptables?" "munge?" "slurm-wlm?" "slurm-wlm-basic-plugins?")
# The second compiler under which the project must be free of warnings, and its sanitizers. Not every distribution has it; Debian 12 and
# Ubuntu 24.04 do. LLVM's linker and its symbolizer (in llvm-16) save time. Without them, the linker and the addr2line of binutils are used.
clang_packages=("clang-16?" "libclang-rt-16-dev?" "lld-16?" "llvm-16?")
# mpich, openmpi-bin and Slurm are needed for their launchers, which start programs of Rollcall in tests. The MPI libraries that `rollcall
# bench --peer` compares with (libopenmpi-dev, libmpich-dev) are not installed.

oldest_cmake=3.25

installed() {
    [[ $(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null) == installed ]] && return
    # A program may be installed without its package, or by a package that replaces the named one.
    case $1 in
        g++ | cmake | pkg-config) command -v "$1" ;;
        ninja-build) command -v ninja ;;
        *) return 1 ;;
    esac >/dev/null
}

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# The output of apt and of the packages' scripts is shown only when apt fails. The warnings of debconf on a system without its dialogs are
# left out.
apt() {
    local said code
    said=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" 2>&1)
    code=$?
    ((code == 0)) || grep -v '^debconf: ' <<<"$said" >&2
    return "$code"
}

# Prints what the system starts when it boots: the links to units, and, on systems without units, the links to scripts.
started_at_boot() { find /etc/systemd/system /etc/rc?.d -type l \( -path '/etc/systemd/*' -o -name 'S*' \) 2>/dev/null | sort; }

# disable_all_but LINKS: disables everything that is now started at boot but is not in LINKS.
disable_all_but() {
    local link
    while read -r link; do
        case $link in
            /etc/systemd/*) as_root rm -f "$link" ;;
            *) as_root update-rc.d "${link##*/S??}" disable ;;
        esac
    done < <(comm -13 - <(started_at_boot) <<<"$1")
}

# without_services COMMAND...: runs the command so that no package it installs starts a service, neither now nor at boot. Some packages
# bring daemons (sshd, munge, Slurm). The tests start these daemons themselves.
without_services() (
    policy=/usr/sbin/policy-rc.d
    mark='# of scripts/packages.sh, for the time of an installation'
    before=$(started_at_boot)
    denied=false
    trap 'disable_all_but "$before" >/dev/null 2>&1; ! $denied || as_root rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    if [[ ! -e $policy ]] || grep -qF "$mark" "$policy"; then
        denied=true
        printf '%s\n' '#!/bin/sh' "$mark" 'exit 101' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy" || exit
    fi
    "$@"
)

# install_packages PACKAGE...: installs the packages that are missing. A name that ends in ? is skipped if no such package exists.
install_packages() {
    local name missing=() optional=() unknown=()
    for name in "$@"; do
        installed "${name%\?}" && continue
        case $name in
            *\?) optional+=("${name%\?}") ;;
            *) missing+=("$name") ;;
        esac
    done
    if ((${#missing[@]} + ${#optional[@]})); then
        if ! command -v apt-get >/dev/null; then
            echo "this system has no apt-get; needed are what Debian calls: ${missing[*]}" >&2
            ((${#missing[@]} == 0))
            return
        fi
        if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
            ((${#missing[@]} == 0)) && return
            echo "packages are missing, and there is no sudo; run as root: apt-get install ${missing[*]} ${optional[*]}" >&2
            return 1
        fi
        # The names of optional packages are looked up in the package lists on this machine. New lists are fetched if there are none, or
        # before an installation.
        if ((${#missing[@]})) || [[ -z $(ls /var/lib/apt/lists/*Packages* 2>/dev/null) ]]; then
            apt update || return
        fi
        for name in "${optional[@]}"; do
            if [[ -n $(apt-cache madison "$name" 2>/dev/null) ]]; then missing+=("$name"); else unknown+=("$name"); fi
        done
        ((${#unknown[@]} == 0)) || echo "left out, as this system's package lists do not have them: ${unknown[*]}"
    fi
    if ((${#missing[@]})); then
        echo "installing ${missing[*]}"
        without_services apt install --yes --no-install-recommends "${missing[@]}" || return
    fi
    local version
    version=$(cmake --version | sed -n 's/^cmake version //p')
    if [[ $(printf '%s\n' "$oldest_cmake" "$version" | sort -V | head -1) != "$oldest_cmake" ]]; then
        echo "cmake $version is too old: Rollcall needs $oldest_cmake (Debian 12, Ubuntu 24.04 or later have it)" >&2
        return 1
    fi
}
