/// \file
/// Where the ranks of one host find the rank that leads them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

#include "bootstrap/rendezvous/authentication.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// A local socket with a name that is in no file system, and that ends with its process. Any user of the host can take such a name. So
/// there are several names, and all ranks pass over those that another user holds. Used by one thread.
class MeetingPlace {
  public:
    static constexpr std::size_t kNames = 16;
    /// After which time the holder of a name is no leader.
    struct Patience {
        /// If a name is taken and nobody listens there: a leader listens as soon as it has its name.
        Nanoseconds silent = 1'000 * kMillisecond;
        /// If the queue of the name is full. The queue of a leader is full only while it is busy, or tries to reach rank 0: it empties the
        /// queue between two tries, which take at most 20 s.
        Nanoseconds full = 30'000 * kMillisecond;
        /// A job that has this time to start must have found a free name by then. Silent names are waited for one after the other, full
        /// ones together.
        static Patience within(Timeout join_timeout);
    };

    /// The names come from the key. Other users do not know them before they are used, and they say nothing about the key.
    MeetingPlace(const Key& key, std::string_view host, Patience patience);
    /// The names are this one with a number. Any user can know them.
    MeetingPlace(const std::string& name, Patience patience);

    /// Connects to a process of the same user. Returns an empty descriptor if there is none. Throws Error{bootstrap} if other users hold
    /// all names.
    Descriptor connect();
    /// Listens, without blocking, at the first name that no other user holds, as far as connect() has seen. Returns an empty descriptor if
    /// a process holds this name of which connect() knows nothing yet. Throws as connect() does.
    Descriptor listen();

  private:
    struct Name {
        std::string text;
        bool of_others = false;
        bool full = false;                  ///< Its queue was full, and no attempt has succeeded since.
        Nanoseconds silent_since = kNever;  ///< When it was found to be taken or full, without an answer so far.
    };
    [[noreturn]] void refuse() const;

    std::vector<Name> names_;
    Patience patience_;
    std::string last_other_ = "one that does not answer";  ///< For messages.
};

/// Accepts, without blocking, the ranks that wait at a socket of MeetingPlace::listen(). Drops processes of other users. Leaves ranks
/// waiting if accepting them would leave this process too few file descriptors.
void accept_waiting(const Descriptor& listener, std::deque<Descriptor>& accepted);

}  // namespace rollcall::bootstrap
