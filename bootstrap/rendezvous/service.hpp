/// \file
/// The thread that serves a rendezvous: as the root of the job, or as the leader of a host.
///
///     rank ─ local socket ─ leader ─ TCP ─ root (which is also the leader of its own host)
///
/// Until all have come, leaders say up which ranks have (`arrived`), and the root says down that the job is complete
/// (`assembled`) or what is wrong (`failed`, sequence 0). Then each leader welcomes its ranks, and from there on a Hub
/// (hub.hpp) decides what goes where. `notice` with rank -1 goes up and down when a rank ends the job. `heartbeat` goes
/// both ways between leaders and root; who is silent for too long is lost, as one whose connection breaks is.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <sys/types.h>
#include <unistd.h>
#include <rollcall/time.hpp>

#include "bootstrap/rendezvous/connection.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

struct ServiceOptions {
    Key key;
    Identity self;     ///< Its kind says what the service is.
    std::string host;  ///< This host's name.
    Timeout join_timeout = kForever;
    Timeout heartbeat = std::chrono::seconds(1);
    Timeout silence = std::chrono::seconds(10);  ///< 0: never.
};

/// A root has `network`, where leaders connect; a leader has its connection to there. `local` is where ranks of this
/// host connect; a root whose host is led by another process has none. Threads: one at a time; announce() and finish() any.
class Service {
  public:
    struct Root {
        Descriptor network;
    };
    struct Leader {
        Descriptor socket;
        Session session;
    };
    /// Starts the thread. Throws Error{bootstrap}.
    Service(ServiceOptions options, Descriptor local, Root root);
    Service(ServiceOptions options, Descriptor local, Leader leader);
    /// At once: who depends on it loses it. In a child that this process forked there is nothing to be ended, neither by this
    /// nor by the calls below: the thread is not there, and the descriptors are closed (Descriptor::keep_from_children).
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Waits, at most so long, until all that depend on this service have left the job or are lost, and know it.
    void finish(Timeout limit) noexcept;
    /// Tells all ranks that the job is being ended, and waits, at most so long, until that is on its way.
    void announce(std::string how, Timeout limit) noexcept;
    /// The thread has ended: all have left.
    bool finished() const { return finished_.load(); }

    class Loop;

  private:
    void start();
    bool is_of_this_process() const { return process_ == ::getpid(); }

    const pid_t process_ = ::getpid();
    std::unique_ptr<Loop> loop_;
    std::mutex finishing_;
    std::atomic<bool> finished_ = false;
    std::thread thread_;
};

}  // namespace rollcall::bootstrap
