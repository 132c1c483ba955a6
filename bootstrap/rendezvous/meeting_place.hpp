/// \file
/// Where the ranks of one host find the one that leads them there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/rendezvous/authentication.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// A local socket, with a name that is in no file system and goes with its process. Whoever is on the host can take such a name:
/// there are several, and all ranks pass over those that another user holds. Threads: one.
class MeetingPlace {
  public:
    static constexpr std::size_t kNames = 16;
    /// A holder that does not let anybody in for so long does not lead: a leader listens as soon as it has its name.
    static constexpr Nanoseconds kSilence = 1000 * kMillisecond;

    /// Nobody else knows the names before they are used; they say nothing about the key.
    MeetingPlace(const Key& key, std::string_view host);
    /// Names that everybody can know: this one and its number.
    explicit MeetingPlace(const std::string& name);

    /// Connects to a process of the same user; an empty one when there is none. Throws Error{bootstrap} when others hold all names.
    Descriptor connect();
    /// Listens, without blocking, at the first name that is free as far as connect() has seen; an empty one when a process
    /// has it of which nothing is known yet. Throws as connect().
    Descriptor listen();

  private:
    struct Name {
        std::string text;
        bool of_others = false;
        Nanoseconds silent_since = kNever;  ///< It was taken then, and nobody has answered.
    };
    [[noreturn]] void refuse() const;

    std::vector<Name> names_;
    std::string last_other_ = "one that does not answer";  ///< For messages.
};

}  // namespace rollcall::bootstrap
