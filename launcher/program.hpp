/// \file
/// Why a program that is there cannot be executed.
#pragma once

#include <string>

namespace rollcall::launcher {

struct ProgramFault {
    std::string why;  ///< Completes "could not start './solver': ...".
    int code = 0;     ///< kExitNotExecutable or kExitNotFound.
};

/// `error`: what execve() of `path` gave.
ProgramFault explain_exec_failure(const std::string& path, int error);

}  // namespace rollcall::launcher
