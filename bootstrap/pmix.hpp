/// \file
/// PMIx: the interface between `srun --mpi=pmix` or Open MPI's mpirun and the ranks that they started.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/managed.hpp"
#include "bootstrap/pmix_abi.hpp"

namespace rollcall::bootstrap {

/// A client of PMIx. It uses the library of the system, which is loaded when it is needed. Rank 0 puts one key. A
/// fence that collects data brings the key to every host; without that, getting it was seen to fail under Slurm. The
/// other ranks get the key on their own host. The library has a thread of its own until finalize().
class Pmix final : public ProcessManager {
  public:
    /// Loads the library and connects to the server. Throws Error{bootstrap}.
    explicit Pmix(Timeout timeout);
    ~Pmix() override;

    int rank() const { return static_cast<int>(self_.rank); }
    int size() const { return size_; }

    std::string share(std::string mine) override;
    void finalize() noexcept override;
    void abort(int code, std::string_view why) noexcept override;

  private:
    struct Library;
    void fence();
    [[noreturn]] void failed(const char* call, pmix::Status status) const;

    std::shared_ptr<Library> library_;
    pmix::Process self_{};
    int size_ = 0;
    Timeout timeout_;
};

/// Joins the job that the environment tells of (PMIX_NAMESPACE, PMIX_RANK). For a job of one process, leaves the
/// process manager and returns an Alone. Throws as Pmix() and Rendezvous() do.
std::unique_ptr<Bootstrap> join_pmix();

}  // namespace rollcall::bootstrap
