/// \file
/// A secret of this user, in a file: for starters that have no way to keep one.
#pragma once

#include <string>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

/// ROLLCALL_KEY_FILE, or ~/.config/rollcall/key, whose directory is made when the home directory is there. Throws Error{bootstrap} when
/// there is no home directory.
std::string key_file_path(const std::string& setting);

/// The key in this file, which is made, with random bytes and for its owner only, when there is none: whoever is first, all
/// processes that share the file system get the same one. Throws Error{bootstrap} when others can read the file, when it is
/// another user's, when it is no key, and when its directory is not there. From it, derive() a key for each job.
Key read_key_file(const std::string& path);

}  // namespace rollcall::bootstrap
