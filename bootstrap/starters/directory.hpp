/// \file
/// For starters that tell each process its rank, on hosts that all see one directory.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// The variables that describe the job: the directory, this process's place, and an identifier, which distinguishes jobs that use one
/// directory at the same time.
inline constexpr const char* kDirectoryVariable = "ROLLCALL_RENDEZVOUS";
inline constexpr const char* kDirectoryRankVariable = "ROLLCALL_RANK";
inline constexpr const char* kDirectorySizeVariable = "ROLLCALL_SIZE";
inline constexpr const char* kDirectoryJobVariable = "ROLLCALL_JOB_ID";

/// Joins the job. Rank 0 puts its invitation into the directory, in a file that only its owner can read, and removes it when all ranks have
/// come. It replaces a file that an earlier job left. A rank that has read such a file asks again until the right one is there. Throws as
/// Rendezvous does, and Error{bootstrap} if the variables are wrong.
std::unique_ptr<Bootstrap> join_directory();

}  // namespace rollcall::bootstrap
