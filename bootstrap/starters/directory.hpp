/// \file
/// Started by anything that tells each process its rank, where all hosts see one directory.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// What tells it: the directory, and this process's place. An identifier keeps jobs apart that use one directory at once.
inline constexpr const char* kDirectoryVariable = "ROLLCALL_RENDEZVOUS";
inline constexpr const char* kDirectoryRankVariable = "ROLLCALL_RANK";
inline constexpr const char* kDirectorySizeVariable = "ROLLCALL_SIZE";
inline constexpr const char* kDirectoryJobVariable = "ROLLCALL_JOB_ID";

/// Rank 0 puts its invitation there, in a file that only its owner can read, and takes it away when all have come. One that
/// an earlier job left is replaced; who has read that asks again until the right one is there. Throws as Rendezvous, and
/// Error{bootstrap} for what the variables say.
std::unique_ptr<Bootstrap> join_directory();

}  // namespace rollcall::bootstrap
