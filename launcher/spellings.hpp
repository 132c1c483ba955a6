/// \file
/// Options that other launchers (mpirun, mpiexec, srun) have under another name than `rollcall run`. Users who come from another
/// launcher try them first.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace rollcall::launcher {

struct Spelling {
    std::string_view theirs;
    std::string_view ours;   ///< The name of our option,
    std::string_view value;  ///< and a value that it may have.
};

/// `-c` is not among them: it is the number of processes for Open MPI, but that of the processors of each process for srun.
inline constexpr std::array kSpellings = {
    Spelling{"-np", "-n", "N"},
    Spelling{"--np", "-n", "N"},
    Spelling{"--ntasks", "-n", "N"},
    Spelling{"-H", "--hosts", "A:4,B:4"},
    Spelling{"-host", "--hosts", "A:4,B:4"},
    Spelling{"--host", "--hosts", "A:4,B:4"},
    Spelling{"-w", "--hosts", "A:4,B:4"},
    Spelling{"--nodelist", "--hosts", "A:4,B:4"},
    Spelling{"-f", "--hostfile", "FILE"},
    Spelling{"-machinefile", "--hostfile", "FILE"},
    Spelling{"--machinefile", "--hostfile", "FILE"},
    Spelling{"-ppn", "--per-node", "N"},
    Spelling{"--ppn", "--per-node", "N"},
    Spelling{"-perhost", "--per-node", "N"},
    Spelling{"-npernode", "--per-node", "N"},
    Spelling{"--npernode", "--per-node", "N"},
    Spelling{"--ntasks-per-node", "--per-node", "N"},
    Spelling{"-x", "--env", "NAME=VALUE"},
    Spelling{"-genv", "--env", "NAME=VALUE"},
    Spelling{"-env", "--env", "NAME=VALUE"},
    Spelling{"--export", "--env", "NAME=VALUE"},
    Spelling{"--cpu-bind", "--bind-to", "core"},
    Spelling{"-wdir", "--directory", "DIR"},
    Spelling{"--wdir", "--directory", "DIR"},
    Spelling{"-wd", "--directory", "DIR"},
    Spelling{"-D", "--directory", "DIR"},
    Spelling{"--chdir", "--directory", "DIR"},
    Spelling{"--overcommit", "--oversubscribe", ""},
    Spelling{"-l", "--tag-output", ""},
    Spelling{"--label", "--tag-output", ""},
    Spelling{"-launcher", "--agent", "ssh|srun|COMMAND"},
    Spelling{"--launcher", "--agent", "ssh|srun|COMMAND"},
    Spelling{"--output-filename", "--output-directory", "DIR"},
    Spelling{"--enable-recovery", "--max-failures", "all"},
    Spelling{"--with-ft", "--max-failures", "all"},
    Spelling{"-disable-auto-cleanup", "--max-failures", "all"},
    Spelling{"--no-kill", "--max-failures", "all"},
    Spelling{"--stdin", "--input", "first|all|none"},
};

/// Returns nullptr if no other launcher spells an option so.
inline const Spelling* spelling_elsewhere(std::string_view word) {
    const auto found = std::find_if(kSpellings.begin(), kSpellings.end(), [&](const Spelling& one) { return one.theirs == word; });
    return found == kSpellings.end() ? nullptr : &*found;
}

}  // namespace rollcall::launcher
