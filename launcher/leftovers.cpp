#include "launcher/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>

#include "foundation/clock.hpp"
#include "launcher/descendants.hpp"

namespace rollcall::launcher {
namespace {

constexpr const char* kDirectory = "/dev/shm";
/// How the names of UCX's files begin.
constexpr std::string_view kFileOfUcx = "ucx_shm_posix_";

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
        const bool ours = ours_.contains(entry.first) || (of_libfabric && ranks.contains(std::atoi(entry.second.c_str())));
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
        if (!used.contains(identity)) ::unlink(fmt::format("{}/{}", kDirectory, name).c_str());
    }
}

}  // namespace rollcall::launcher
