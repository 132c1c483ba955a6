/// \file
/// The hosts that a batch system has allocated to the job in which `rollcall run` is called.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts.hpp"

namespace rollcall::launcher {

struct Allocation {
    std::string manager;      ///< "Slurm", "PBS", "LSF" or "Grid Engine".
    std::vector<Host> hosts;  ///< With the slots of each.
    std::string agent;        ///< The remote shell to use there; empty: ssh.
};

/// Reads the allocation from the environment. Returns nothing outside of an allocation. These variables are read:
///
///     Slurm        SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE or SLURM_JOB_CPUS_PER_NODE
///     PBS          PBS_NODEFILE, a line for each slot
///     LSF          LSB_DJOB_HOSTFILE, a line for each slot, or LSB_MCPU_HOSTS, "a 4 b 2"
///     Grid Engine  PE_HOSTFILE, "a 4 queue processors" in each line
///
/// Throws Error{invalid_argument}, which names the variable, if a value cannot be understood.
std::optional<Allocation> find_allocation();

/// The remote shell of the allocation in which all these hosts are. Empty if there is none, or if it cannot be read.
std::string agent_in_allocation(const std::vector<Host>& hosts);

}  // namespace rollcall::launcher
