/// \file
/// PMIx: what `srun --mpi=pmix` and Open MPI's mpirun say to the ranks they started.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/managed.hpp"
#include "bootstrap/pmix_abi.hpp"

namespace rollcall::bootstrap {

/// A client of PMIx, through the library of the system, which is loaded when it is needed. Rank 0 puts one key; a fence that
/// collects data brings it to every host (without that, getting it was seen to fail under Slurm); the others get it where
/// they are. The library has a thread of its own, until finalize().
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

/// Joins the job that the environment tells of (PMIX_NAMESPACE, PMIX_RANK). A job of one is alone. Throws as Pmix() and
/// Rendezvous().
std::unique_ptr<Bootstrap> join_pmix();

}  // namespace rollcall::bootstrap
