/// \file
/// Reads one word of a host list: which hosts it names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::launcher {

/// The contents of a word such as `anna@node[1-2]:4`.
struct HostWord {
    std::string user;                ///< Empty: none.
    std::vector<std::string> names;  ///< At least one, at most kMostHosts, without the user.
    std::optional<int> slots;
};

/// Called with a sentence about a mistake. It throws.
using Complain = std::function<void(const std::string& sentence)>;

/// Reads a word. Time and memory are bounded for any word. `complain` must not return.
HostWord parse_host_word(std::string_view word, const Complain& complain);

/// Reads a number of slots, from 1 to kMostSlots.
int parse_slots(std::string_view text, const Complain& complain);

/// Calls `complain` unless a remote shell can be given this user's name.
void check_user(std::string_view user, const Complain& complain);

}  // namespace rollcall::launcher
