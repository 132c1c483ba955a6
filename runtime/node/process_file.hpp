/// \file
/// Files that another process has open, reached through /proc/PID/fd.
#pragma once

#include <cstdint>

namespace rollcall::runtime::node {

/// Opens a file once more that has this number in the process. Returns -1 if that is not possible; errno says why: ENOENT if the process
/// has ended or is about to.
int open_file_of(std::int32_t process, std::int32_t file, int flags) noexcept;

}  // namespace rollcall::runtime::node
