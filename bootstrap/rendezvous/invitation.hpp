/// \file
/// What a process needs to come to a rendezvous: where its root listens, and the job's key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

inline constexpr std::size_t kLongestInvitation = 400;

/// Secret, because of the key.
struct Invitation {
    std::string address;  ///< Numeric, IPv4 or IPv6.
    std::uint16_t port = 0;
    Key key;

    /// At most kLongestInvitation printable characters: letters, digits, and ".:,-".
    std::string text() const;
    /// Throws Error{bootstrap}; the text itself is not in the message. Of a text by failed_invitation(): its sentence.
    static Invitation parse(std::string_view text);
};

/// What rank 0 hands to the others in the place of an invitation when it has none: why, in the
/// same letters, and not longer.
std::string failed_invitation(std::string_view sentence);

}  // namespace rollcall::bootstrap
