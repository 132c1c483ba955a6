/// \file
/// One word of a host list: which hosts it names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::launcher {

/// What `anna@node[1-2]:4` says.
struct HostWord {
    std::string user;                ///< Empty: none.
    std::vector<std::string> names;  ///< At least one, at most kMostHosts, without the user.
    std::optional<int> slots;
};

/// Gets the sentence of a mistake, and throws.
using Complain = std::function<void(const std::string& sentence)>;

/// Time and memory are bounded whatever the word is. `complain` must not return.
HostWord parse_host_word(std::string_view word, const Complain& complain);

/// A number of slots, 1 to kMostSlots.
int parse_slots(std::string_view text, const Complain& complain);

/// Complains unless a remote shell can be given this user's name.
void check_user(std::string_view user, const Complain& complain);

}  // namespace rollcall::launcher
