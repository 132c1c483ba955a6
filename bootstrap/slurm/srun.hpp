/// \file
/// Tasks of a job step that srun started without a PMI (`srun --mpi=none`).
#pragma once

#include <memory>
#include <string>

#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/slurm/credentials.hpp"
#include "bootstrap/slurm/step.hpp"

namespace rollcall::bootstrap {

/// Passes rank 0's text to the tasks of a step, as a Share does. The first task of each node asks rank 0 by TCP, at an address of the
/// step's first node and a port that follows from the step's number. The other tasks ask the first task of their node over a unix socket,
/// which shows the user at the other end. Throws Error{bootstrap, timeout}.
class SlurmShare {
  public:
    /// `credentials` protect what goes over TCP.
    SlurmShare(SlurmStep step, std::shared_ptr<Credentials> credentials, const RendezvousOptions& options);
    std::string operator()(std::string mine);

  private:
    SlurmStep step_;
    std::shared_ptr<Credentials> credentials_;
    std::string net_;
    Timeout timeout_;
};

/// Joins the step that the environment describes. Throws as slurm_step(), SlurmShare and Rendezvous() do.
std::unique_ptr<Bootstrap> join_srun();

}  // namespace rollcall::bootstrap
