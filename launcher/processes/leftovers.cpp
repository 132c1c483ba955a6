#include "launcher/processes/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>

#include "foundation/clock.hpp"
#include "launcher/processes/descendants.hpp"

namespace rollcall::launcher {
namespace {

constexpr const char* kDirectory = "/dev/shm";
/// How the names of UCX's files begin.
constexpr std::string_view kFileOfUcx = "ucx_shm_posix_";

/// Returns the process in the name of a file of libfabric. 0: the number is longer (the ranks were in PID namespaces of their own).
pid_t process_in(std::string_view name) {
    pid_t process = 0;
    std::from_chars(name.data(), name.data() + name.size(), process);
    return process;
}

/// Returns whether a file may be one of libfabric's: the process, the endpoint and the domain, as in "4711:0:0".
bool may_be_of_libfabric(std::string_view name) {
    return std::count(name.begin(), name.end(), ':') == 2 && name.find_first_not_of("0123456789:") == std::string_view::npos;
}

/// How long after a file appears the launcher looks for its owner. UCX and most others unlink their files at once. A file that is still
/// there then may stay.
constexpr Nanoseconds kSettle = 2 * kMillisecond;
/// A look walks through /proc. A job that makes files all the time may cost the launcher at most a tenth of a core.
constexpr Nanoseconds kRestPerLook = 10;

using Identity = std::pair<dev_t, ino_t>;

template <typename Visit>
void each_entry(const char* path, Visit visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path), ::closedir);
    if (!directory) return;
    while (const dirent* entry = ::readdir(directory.get())) visit(::dirfd(directory.get()), entry->d_name);
}

std::map<Identity, std::string> listing() {
    std::map<Identity, std::string> found;
    each_entry(kDirectory, [&](int directory, const char* name) {
        struct stat status {};
        if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        if (S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) found[{status.st_dev, status.st_ino}] = name;
    });
    return found;
}

/// Adds the files in /dev/shm that a process has open or mapped.
void add_used(pid_t process, std::set<Identity>& used) {
    each_entry(fmt::format("/proc/{}/fd", process).c_str(), [&](int directory, const char* name) {
        struct stat status {};
        if (::fstatat(directory, name, &status, 0) == 0 && S_ISREG(status.st_mode)) {
            used.emplace(status.st_dev, status.st_ino);
        }
    });
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    for (std::string line; std::getline(maps, line);) {
        if (line.find("/dev/shm/") == std::string::npos) continue;
        unsigned major_number = 0;
        unsigned minor_number = 0;
        unsigned long inode = 0;
        if (std::sscanf(line.c_str(), "%*s %*s %*s %x:%x %lu", &major_number, &minor_number, &inode) == 3) {
            used.emplace(makedev(major_number, minor_number), inode);
        }
    }
}

/// Returns whether it is certain that no process of the kernel has a file open for writing, or mapped by such a descriptor. Transports open
/// their files so. Processes count that /proc does not show, because the kernel grants no read lease while there is one.
bool is_unused(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return false;
    // If a process opens the file for writing in this moment, the kernel sends a signal. The default one, SIGIO, would end this process.
    ::fcntl(file.get(), F_SETSIG, SIGURG);
    return ::fcntl(file.get(), F_SETLEASE, F_RDLCK) == 0;  // the lease ends with the descriptor
}

}  // namespace

Leftovers::Leftovers(bool watch) : look_at_(kNever) {
    if (watch) events_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (events_ && ::inotify_add_watch(events_.get(), kDirectory, IN_CREATE | IN_MOVED_TO) < 0) events_.reset();
    before_ = listing();
}

void Leftovers::noticed() {
    alignas(inotify_event) std::array<char, 16384> buffer;
    while (::read(events_.get(), buffer.data(), buffer.size()) > 0) {
    }
    if (look_at_ == kNever) look_at_ = std::max(monotonic_now() + kSettle, rest_until_);
}

std::map<Identity, std::string> Leftovers::fresh() const {
    auto found = listing();
    std::erase_if(found, [&](const auto& entry) {
        const auto old = before_.find(entry.first);
        return old != before_.end() && old->second == entry.second;
    });
    return found;
}

std::vector<Leftovers::Found> Leftovers::look() {
    const Nanoseconds start = monotonic_now();
    look_at_ = kNever;
    auto candidates = fresh();
    std::erase_if(candidates, [&](const auto& entry) { return ours_.contains(entry.first); });
    std::vector<Found> found;
    if (candidates.empty()) return found;
    std::set<Identity> used;
    for (const pid_t process : descendants(::getpid())) add_used(process, used);
    for (const auto& [identity, name] : candidates) {
        if (!used.contains(identity)) continue;
        ours_.emplace(identity, name);
        Found& one = found.emplace_back(Found{identity.first, identity.second, {}});
        name.copy(one.name, sizeof one.name - 1);
    }
    rest_until_ = monotonic_now() + kRestPerLook * (monotonic_now() - start);
    return found;
}

void Leftovers::remove(bool failed, const std::set<pid_t>& ranks) {
    auto files = fresh();
    std::erase_if(files, [&](const auto& entry) {
        const bool of_libfabric = may_be_of_libfabric(entry.second);
        const bool ours = ours_.contains(entry.first) || (of_libfabric && ranks.contains(process_in(entry.second)));
        const bool of_transport = of_libfabric || entry.second.starts_with(kFileOfUcx);
        return failed ? !ours && !of_transport : !ours || !of_transport;
    });
    if (files.empty()) return;
    std::set<Identity> used;
    each_entry("/proc", [&](int, const char* name) {
        const std::string_view text = name;
        if (text.find_first_not_of("0123456789") == std::string_view::npos) add_used(std::stoi(name), used);
    });
    for (const auto& [identity, name] : files) {
        const auto path = fmt::format("{}/{}", kDirectory, name);
        if (used.contains(identity)) continue;
        // A file that is the job's only by its name may be used by a process that /proc does not show: one of another container that shares
        // /dev/shm with this one, or one of this user whose descriptors are secret (prctl(PR_SET_DUMPABLE), file capabilities).
        if (!ours_.contains(identity) && !is_unused(path)) continue;
        ::unlink(path.c_str());
    }
}

}  // namespace rollcall::launcher
