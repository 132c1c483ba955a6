/// \file
/// Where the ranks of one host find the rank that leads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/rendezvous/authentication.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// A local socket with a name that is in no file system, and that ends with its process. Any user of the host can take such a name. So
/// there are several names, and all ranks pass over those that another user holds. Used by one thread.
class MeetingPlace {
  public:
    static constexpr std::size_t kNames = 16;
    /// If a name is taken for this long and nobody listens there, its holder is not a leader: a leader listens as soon as it has its name.
    static constexpr Nanoseconds kSilence = 1000 * kMillisecond;
    /// A leader may be busy when many ranks come at once, and its queue is full then. If the queue is full for so many times the silence,
    /// its holder is not a leader either.
    static constexpr int kFullFor = 10;

    /// The names come from the key. Other users do not know them before they are used, and they say nothing about the key.
    MeetingPlace(const Key& key, std::string_view host);
    /// The names are this one with a number. Any user can know them.
    explicit MeetingPlace(const std::string& name, Nanoseconds silence = kSilence);

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
    Nanoseconds silence_ = kSilence;
    std::string last_other_ = "one that does not answer";  ///< For messages.
};

}  // namespace rollcall::bootstrap
