#include "runtime/node/process_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>

#include "transports/process_memory.hpp"

namespace rollcall::runtime::node {

int open_file_of(std::int32_t process, std::int32_t file, int flags) noexcept {
    std::array<char, 48> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", process, file);
    const int opened = ::open(path.data(), flags | O_CLOEXEC);
    if (opened >= 0 || (errno != EACCES && errno != EPERM)) return opened;
    // What /proc tells of a process that is ending belongs to root, before it goes.
    const int reason = errno;
    errno = transport::is_ending(process) ? ENOENT : reason;
    return -1;
}

}  // namespace rollcall::runtime::node
