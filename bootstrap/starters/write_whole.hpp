/// \file
/// Writes small files that others read as soon as they exist.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace rollcall::bootstrap {

/// Writes the whole text, so that it stays if the host fails. Returns 0, or the errno of what failed.
inline int write_whole(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(file, text.data(), text.size());
        if (count < 0 && errno != EINTR) return errno;
        if (count == 0) return ENOSPC;
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
    return ::fsync(file) == 0 ? 0 : errno;
}

}  // namespace rollcall::bootstrap
