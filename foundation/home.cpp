#include "foundation/home.hpp"

#include <array>
#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

namespace rollcall::inline foundation {

std::string home_directory() {
    if (const char* const home = std::getenv("HOME"); home && *home) return home;
    // Not getpwuid(): another thread of the program may call it, too.
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> texts;
    if (::getpwuid_r(::geteuid(), &entry, texts.data(), texts.size(), &found) != 0 || !found || !entry.pw_dir) return {};
    return entry.pw_dir;
}

}  // namespace rollcall::inline foundation
