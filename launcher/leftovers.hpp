/// \file
/// What a job leaves in /dev/shm.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>

#include <rollcall/time.hpp>

#include "runtime/bootstrap/descriptor.hpp"

namespace rollcall::launcher {

/// Watches /dev/shm while a job runs and notes which files its processes made: a file that was not there before,
/// belongs to this user, and is open in or mapped by a process below this one. A name alone proves nothing.
class Leftovers {
  public:
    Leftovers();

    /// Readable when something has appeared in /dev/shm; -1 when that cannot be watched.
    int descriptor() const { return events_.get(); }
    /// Takes the events; the look itself follows at look_at(), so that files that are unlinked at once cost nothing.
    void noticed();
    /// When look() is due; kNever when nothing has appeared.
    Nanoseconds look_at() const { return look_at_; }
    /// Looks for owners of what has appeared.
    void look();
    /// Removes the job's files that no living process uses. Called when the job's processes are gone.
    void remove();

  private:
    using Identity = std::pair<dev_t, ino_t>;
    /// What is there and was not there at the start: regular files of this user.
    std::map<Identity, std::string> fresh() const;

    std::map<Identity, std::string> before_;
    std::map<Identity, std::string> ours_;
    bootstrap::Descriptor events_;
    Nanoseconds look_at_;
    Nanoseconds rest_until_ = 0;
};

}  // namespace rollcall::launcher
