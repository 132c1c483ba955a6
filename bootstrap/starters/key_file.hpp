/// \file
/// A secret of this user, in a file. It is for starters that have no way to keep one.
#pragma once

#include <string>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

/// Returns ROLLCALL_KEY_FILE, or ~/.config/rollcall/key. The directory of the latter is made if the home directory exists. Throws
/// Error{bootstrap} if there is no home directory, and if that directory cannot be made.
std::string key_file_path(const std::string& setting);

/// Returns the key in this file. If there is no file, makes it, with random bytes and for its owner only. If several processes do this at
/// once, all processes that share the file system get the same key. Throws Error{bootstrap} if others can read the file, if it belongs to
/// another user, if it does not hold a key, and if its directory does not exist. derive() makes a key for each job from this key.
Key read_key_file(const std::string& path);

}  // namespace rollcall::bootstrap
