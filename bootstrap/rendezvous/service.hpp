/// \file
/// The thread that serves a rendezvous: as the root of the job, or as the leader of a host.
///
///     rank ─ local socket ─ leader ─ TCP ─ root (which is also the leader of its own host)
///
/// Until all ranks have come, leaders tell the root which ranks have (`arrived`). The root then tells the leaders that the job is complete
/// (`assembled`), or what is wrong (`failed`, sequence 0). Each leader welcomes its ranks. From then on a Hub (hub.hpp) decides what goes
/// where. When a rank ends the job, `notice` with rank -1 goes up and down. `heartbeat` goes both ways between leaders and root. A side
/// that is silent for too long is lost, as if its connection had broken.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>
#include <unistd.h>
#include <rollcall/time.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/connection.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

struct ServiceOptions {
    Key key;
    Identity self;     ///< Its kind says whether the service is a root or a leader.
    std::string host;  ///< This host's name.
    Timeout join_timeout = kForever;
    Timeout heartbeat = std::chrono::seconds(1);
    Timeout silence = std::chrono::seconds(10);  ///< 0: silence never counts as a loss.
    std::string absence_advice = {};             ///< A clause that says why ranks may be missing.
};

/// A root listens at `networks`, where leaders connect. A leader has a connection to the root. Ranks of this host connect at `local`; a
/// root has none if another process leads its host. One thread at a time may use it. Any thread may call announce() and finish().
class Service {
  public:
    struct Root {
        std::vector<Descriptor> networks;
    };
    struct Leader {
        Descriptor socket;
        Session session;
        std::deque<Descriptor> early = {};  ///< Ranks that this process has accepted before.
    };
    /// Starts the thread. Throws Error{bootstrap}.
    Service(ServiceOptions options, Descriptor local, Root root);
    Service(ServiceOptions options, Descriptor local, Leader leader);
    /// Ends the service at once, so that processes that depend on it lose it. In a child that this process forked, neither this function
    /// nor those below have anything to end: the thread does not exist there, and the descriptors are closed
    /// (Descriptor::keep_from_children).
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Waits until all that depend on this service have left the job or are lost, and have been told, for `limit` at most.
    void finish(Timeout limit) noexcept;
    /// Tells all ranks that the job is being ended. Waits until that has been sent, for `limit` at most.
    void announce(Notice notice, Timeout limit) noexcept;
    /// Whether the thread has ended because all have left.
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
