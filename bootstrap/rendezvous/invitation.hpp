/// \file
/// What a process needs to come to a rendezvous: where its root listens, and the job's key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

inline constexpr std::size_t kLongestInvitation = 400;

/// Secret, because it contains the key.
struct Invitation {
    std::string address;  ///< Numeric, IPv4 or IPv6.
    std::uint16_t port = 0;
    Key key;

    /// At most kLongestInvitation printable characters: letters, digits, and ".:,-".
    std::string text() const;
    /// Throws Error{bootstrap}. The sentence does not contain the text. If failed_invitation() made the text, the error has the sentence
    /// that was given to it.
    static Invitation parse(std::string_view text);
};

/// Returns what rank 0 gives to the others if it has no invitation: the reason, in the same letters, and not longer.
std::string failed_invitation(std::string_view sentence);

}  // namespace rollcall::bootstrap
