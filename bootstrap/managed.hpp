/// \file
/// A rank whose process manager does little more than start it: the ranks find each other through it, and talk to each
/// other themselves.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"

namespace rollcall::bootstrap {

/// What is asked of a process manager: a number of requests that does not depend on the size of the job.
class ProcessManager {
  public:
    virtual ~ProcessManager() = default;

    /// Hands rank 0's text to all ranks, as Share. Collective over the job; called once. Throws Error{bootstrap, timeout}.
    virtual std::string share(std::string mine) = 0;
    /// This process leaves in good order. Waits for an answer for some seconds at most.
    virtual void finalize() noexcept = 0;
    /// Asks for the end of the job. May be called by any thread at any time. Waits for half a second at most.
    virtual void abort(int code, std::string_view why) noexcept = 0;
};

/// Threads: as Bootstrap says.
class Managed final : public Bootstrap {
  public:
    /// Collective over the job. Throws as Rendezvous.
    Managed(std::string starter, int rank, int size, std::unique_ptr<ProcessManager> manager, const RendezvousOptions& options);

    std::string_view name() const override { return rendezvous_.name(); }
    const Place& place() const override { return rendezvous_.place(); }
    Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override {
        return rendezvous_.exchange(mine, meanwhile, timeout);
    }
    void barrier(const Meanwhile& meanwhile, Timeout timeout) override { rendezvous_.barrier(meanwhile, timeout); }
    int notice_descriptor() const override { return rendezvous_.notice_descriptor(); }
    std::optional<Notice> take_notice() override { return rendezvous_.take_notice(); }
    /// First the other ranks, then the process manager: that may end them all when it misses one.
    void leave() noexcept override;
    void abort(int code, std::string_view why) noexcept override;

  private:
    std::unique_ptr<ProcessManager> manager_;
    Rendezvous rendezvous_;
};

/// For a process manager that is asked to end a job, and with it this very process.
inline constexpr Timeout kAbortPatience = std::chrono::milliseconds(500);

/// The whole number that is the value of this variable, or -1 when there is none.
int number_in_environment(const char* variable);

}  // namespace rollcall::bootstrap
