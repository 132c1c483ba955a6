/// \file
/// PMI-1: what mpiexec.hydra (MPICH, Intel MPI) and `srun --mpi=pmi2` say to the ranks they started.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "bootstrap/managed.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// The wire protocol of PMI-1 over an inherited socket: lines of `cmd=... key=value`, one answer for each question, and a
/// key-value store that is common to the job after a barrier. Each rank asks five questions, whatever the size of the job
/// (init, name of the store, barrier, then rank 0 puts where the others get, finalize).
///
/// The text that is shared travels with a checksum, in one value of at most 512 characters: some process managers cut
/// longer values, or lose them, without a word.
class Pmi final : public ProcessManager {
  public:
    /// Takes over the descriptor (close-on-exec from here on) and says hello. Throws Error{bootstrap, timeout}.
    Pmi(int descriptor, int rank, int size, Timeout timeout);

    std::string share(std::string mine) override;
    void finalize() noexcept override;
    void abort(int code, std::string_view why) noexcept override;

  private:
    class Answer;
    Answer ask(std::string_view question, std::string_view answer, Timeout timeout);
    /// False: it did not go out in time.
    bool send(std::string_view line, Timeout timeout);

    int rank_;
    Timeout timeout_;
    Descriptor socket_;
    std::string received_;  ///< Of the next answer.
    std::string space_;     ///< Name of the key-value store.
    std::mutex sending_;    ///< abort() may come from any thread.
};

/// Joins by what the environment says (PMI_FD, PMI_RANK, PMI_SIZE). Throws as Pmi() and Rendezvous().
std::unique_ptr<Bootstrap> join_pmi();

}  // namespace rollcall::bootstrap
