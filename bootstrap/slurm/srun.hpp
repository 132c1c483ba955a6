/// \file
/// Tasks of a job step that srun started without a PMI (`srun --mpi=none`).
#pragma once

#include <memory>
#include <string>

#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/slurm/credentials.hpp"
#include "bootstrap/slurm/step.hpp"

namespace rollcall::bootstrap {

/// Hands rank 0's text to the tasks of a step, as Share: the first task of each node asks rank 0 by TCP (an address of the
/// step's first node, a port that follows from the step's number), the others ask the first task of their node over a unix
/// socket that shows who is its user. Throws Error{bootstrap, timeout}.
class SlurmShare {
  public:
    /// `credentials` protect what goes by TCP.
    SlurmShare(SlurmStep step, std::shared_ptr<Credentials> credentials, const RendezvousOptions& options);
    std::string operator()(std::string mine);

  private:
    SlurmStep step_;
    std::shared_ptr<Credentials> credentials_;
    std::string net_;
    Timeout timeout_;
};

/// Joins the step that the environment tells of. Throws as slurm_step(), SlurmShare and Rendezvous().
std::unique_ptr<Bootstrap> join_srun();

}  // namespace rollcall::bootstrap
