/// \file
/// How two running jobs are connected: one listens, the other one connects.
///
///     // one job                                          // the other job
///     rollcall::Listener listener(job.world());           std::string invitation = ...;  // on rank 0
///     // rank 0 hands listener.invitation() over          auto server = rollcall::Intercommunicator::connect(job.world(), invitation);
///     auto client = listener.accept();
///
/// The two jobs then have an Intercommunicator, each with its own ranks as the own group. All that an intercommunicator has works over it:
/// operations, messages, plans, merge(). In errors, and in merge(), the ranks of the job that listens come first.
///
/// The ranks of a connection form a *world* of their own: first the ranks of the job that listens, then those of the other job.
/// remote_world_rank(), world_rank() of what merge() makes, and failed_rank() of calls over the connection count in it; those of local()
/// count in the world of the own job. If a rank dies, collective calls over the connection fail on all ranks of both jobs and name it, and
/// so do messages with that rank; all calls, if it is rank 0 of the job that listens. The job that has lost no rank goes on.
///
/// The invitation holds a key. Anyone who has the invitation can connect. Hand it over in a way that other users cannot read. On every
/// network connection between the jobs, both sides prove that they know a key. The same limits hold as for a start of ranks (SECURITY.md).
/// Both jobs must use the same version of Rollcall, the same transport, and the same settings of algorithms. Otherwise both are told the
/// difference, or only the job that connects, if even the rendezvous of the two versions differs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rollcall/export.h>
#include <rollcall/communicator.hpp>
#include <rollcall/intercommunicator.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

/// How a Listener waits.
struct ListenOptions {
    /// The name of this job in error messages, as in ConnectOptions. It need only live until the constructor returns.
    std::string_view job_name = {};
    /// The port on which rank 0 listens; 0: any. The setting ROLLCALL_NET decides on which network interface. Once two jobs have met, their
    /// hosts connect to rank 0 at one more port, which the system chooses. A firewall must let both through.
    std::uint16_t port = 0;
};

/// A handle to a place where other jobs can connect to the ranks of a communicator. Copies refer to the same place. A default-constructed
/// handle is null. Rank 0 of the communicator listens as long as it has a handle.
///
/// Threads: any thread may use a Listener. accept() is a collective call: one thread at a time on each rank makes it. Several Listeners on
/// one communicator may accept at the same time, because each has a duplicate of it.
class ROLLCALL_EXPORT Listener {
  public:
    /// \{
    /// A null handle, or one more handle to the same place.
    Listener();
    ~Listener();
    Listener(const Listener&);
    Listener(Listener&&) noexcept;
    Listener& operator=(const Listener&);
    Listener& operator=(Listener&&) noexcept;
    /// \}
    /// Begins to listen on rank 0 of the communicator. Collective over it. Throws on all ranks Error{bootstrap} if rank 0 cannot listen,
    /// and Error{invalid_argument} if the name of the job is too long.
    explicit Listener(const Communicator& communicator, const ListenOptions& options = {});

    /// The text that the other job passes to Intercommunicator::connect(): one word of printable characters, at most 400. It may be used
    /// any number of times. Empty on ranks other than 0. Secret, because it holds a key.
    const std::string& invitation() const;

    /// Waits until another job connects, and returns the intercommunicator with it. Collective over the communicator. Jobs that connect at
    /// the same time are accepted one after the other, by one call each. Connections of processes that do not know the key, or whose
    /// version has another rendezvous, are dropped; they are told why.
    ///
    /// Throws, on all ranks of the communicator, Error{timeout} if no job has connected in time (`timeout`, or ROLLCALL_TIMEOUT);
    /// Error{invalid_setting} or Error{bootstrap} if the job that connects cannot be connected (other settings, version or transport; both
    /// jobs are told); and Error{peer_failed} if a rank of either job dies. Error::failed_rank() counts in the world of the connection if
    /// the ranks of both jobs were already coming together, and else in the world of this job: go by the text of the error.
    Intercommunicator accept(std::optional<Timeout> timeout = {}) const;

  private:
    struct Implementation;
    const Implementation& checked() const;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace rollcall
