/// \file
/// PMI-1: the protocol between mpiexec.hydra (MPICH, Intel MPI) or `srun --mpi=pmi2` and the ranks that they started.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "bootstrap/managed.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// The wire protocol of PMI-1 over an inherited socket. It consists of lines of `cmd=... key=value`, with one answer
/// for each question, and of a key-value store that is common to the job after a barrier. Each rank asks five
/// questions, whatever the size of the job: init, the name of the store, a barrier, one put (rank 0) or one get (all
/// others), and finalize.
///
/// The text that is shared travels with a checksum, in one value of at most 512 characters, because some process
/// managers cut or lose longer values without reporting it.
class Pmi final : public ProcessManager {
  public:
    /// Takes over the descriptor (close-on-exec from then on) and sends init. Throws Error{bootstrap, timeout}.
    Pmi(int descriptor, int rank, int size, Timeout timeout);

    std::string share(std::string mine) override;
    void finalize() noexcept override;
    void abort(int code, std::string_view why) noexcept override;

  private:
    class Answer;
    Answer ask(std::string_view question, std::string_view answer, Timeout timeout);
    /// Returns false if the line was not sent in time.
    bool send(std::string_view line, Timeout timeout);

    int rank_;
    Timeout timeout_;
    Descriptor socket_;
    std::string received_;  ///< The received part of the next answer.
    std::string space_;     ///< Name of the key-value store.
    std::mutex sending_;    ///< abort() may come from any thread.
};

/// Joins the job that the environment tells of (PMI_FD, PMI_RANK, PMI_SIZE). Throws as Pmi() and Rendezvous() do.
std::unique_ptr<Bootstrap> join_pmi();

}  // namespace rollcall::bootstrap
