/// \file
/// Finds and removes files that a job leaves in /dev/shm.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"

namespace rollcall::launcher {

/// Watches /dev/shm while a job runs, and notes which files its processes made. Such a file was not there before,
/// belongs to this user, and is open in or mapped by a process below this one. The name of a file proves nothing,
/// with one exception: UCX unlinks its files some moments after it has made them, and a job over libfabric when it starts.
/// So if no process uses a file with such a name, the process that made it died in between.
class Leftovers {
  public:
    /// One file that a process of the job made. It is plain bytes, because the guard sends it to the front process.
    struct Found {
        dev_t device;
        ino_t inode;
        char name[256];
    };

    /// Notes which files are there now. Only the guard watches, because the kernel takes 8 ms to end a watch.
    explicit Leftovers(bool watch);

    /// Readable when something has appeared in /dev/shm; -1 if /dev/shm cannot be watched.
    int descriptor() const { return events_.get(); }
    /// Takes the events. The look itself follows at look_at(), so that files that are unlinked at once cost nothing.
    void noticed();
    /// When look() is due; kNever when nothing has appeared.
    Nanoseconds look_at() const { return look_at_; }
    /// Looks for the owners of the files that have appeared. Returns the files of the job that were not known yet.
    std::vector<Found> look();
    /// Adds a file that another process has found with look().
    void add(const Found& found) { ours_.emplace(Identity{found.device, found.inode}, found.name); }
    /// Removes files that no living process uses. Called when the job's processes are gone. If the job failed: its files, and
    /// those with names of UCX or libfabric that appeared meanwhile. Otherwise only its files with such names: a rank of it
    /// may have died without harm to the others, and all other files may have been left on purpose. `ranks`: the processes of
    /// the job's ranks. A file of libfabric whose name begins with one of these numbers is a file of the job, also if its
    /// process was gone before a look. /proc does not show what all processes use. So a file that was not seen by look() is
    /// removed only if the kernel says that no process has it open for writing.
    void remove(bool failed, const std::set<pid_t>& ranks = {});

  private:
    using Identity = std::pair<dev_t, ino_t>;
    /// The regular files of this user that are there now and were not there at the start.
    std::map<Identity, std::string> fresh() const;

    std::map<Identity, std::string> before_;
    std::map<Identity, std::string> ours_;
    Descriptor events_;
    Nanoseconds look_at_;
    Nanoseconds rest_until_ = 0;
};

}  // namespace rollcall::launcher
