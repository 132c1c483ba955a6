/// \file
/// The bootstrap of a rank whose process manager does little more than start it. The ranks find each other through
/// the process manager, and then talk to each other themselves.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"

namespace rollcall::bootstrap {

/// The requests to a process manager. Their number does not depend on the size of the job.
class ProcessManager {
  public:
    virtual ~ProcessManager() = default;

    /// Gives rank 0's text to all ranks, as Share does. Collective over the job; called once. Throws Error{bootstrap,
    /// timeout}.
    virtual std::string share(std::string mine) = 0;
    /// Says that this process leaves in good order. Waits some seconds at most for an answer.
    virtual void finalize() noexcept = 0;
    /// Asks the process manager to end the job. Any thread may call it at any time. Waits for half a second at most.
    virtual void abort(int code, std::string_view why) noexcept = 0;
};

/// The rules for threads are those of Bootstrap.
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
    /// Tells the other ranks first, then the process manager, because a process manager may end all ranks when it
    /// misses one.
    void leave() noexcept override;
    void farewell(std::string_view how) noexcept override { rendezvous_.farewell(how); }
    void vanish() noexcept override { rendezvous_.vanish(); }
    void abort(int code, std::string_view why) noexcept override;

  private:
    std::unique_ptr<ProcessManager> manager_;
    Rendezvous rendezvous_;
};

/// How long to wait for a process manager that was asked to end the job, and with it this process.
inline constexpr Timeout kAbortPatience = std::chrono::milliseconds(500);

/// Returns the whole number that is the value of this variable, or -1 if there is none.
int number_in_environment(const char* variable);

}  // namespace rollcall::bootstrap
