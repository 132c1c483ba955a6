/// \file
/// What a job leaves in /dev/shm.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"

namespace rollcall::launcher {

/// Watches /dev/shm while a job runs and notes which files its processes made: a file that was not there before,
/// belongs to this user, and is open in or mapped by a process below this one. A name alone proves nothing, but for one kind: UCX
/// unlinks its files some moments after it has made them, so one that nobody uses is of a process that died in between.
class Leftovers {
  public:
    /// One file that a process of the job made. Plain bytes: the guard sends it to the front process.
    struct Found {
        dev_t device;
        ino_t inode;
        char name[256];
    };

    /// Notes what is there now. Only the guard watches: to end a watch takes the kernel 8 ms.
    explicit Leftovers(bool watch);

    /// Readable when something has appeared in /dev/shm; -1 when that cannot be watched.
    int descriptor() const { return events_.get(); }
    /// Takes the events; the look itself follows at look_at(), so that files that are unlinked at once cost nothing.
    void noticed();
    /// When look() is due; kNever when nothing has appeared.
    Nanoseconds look_at() const { return look_at_; }
    /// Looks for owners of what has appeared. Gives the files of the job that were not known yet.
    std::vector<Found> look();
    /// A file that another process's look has found.
    void add(const Found& found) { ours_.emplace(Identity{found.device, found.inode}, found.name); }
    /// Removes the job's files that no living process uses, and UCX's that appeared meanwhile. Called when the job's processes are
    /// gone.
    void remove();

  private:
    using Identity = std::pair<dev_t, ino_t>;
    /// What is there and was not there at the start: regular files of this user.
    std::map<Identity, std::string> fresh() const;

    std::map<Identity, std::string> before_;
    std::map<Identity, std::string> ours_;
    Descriptor events_;
    Nanoseconds look_at_;
    Nanoseconds rest_until_ = 0;
};

}  // namespace rollcall::launcher
