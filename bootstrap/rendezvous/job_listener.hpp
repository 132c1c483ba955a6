/// \file
/// How two running jobs meet, before their ranks come to a rendezvous that they have in common.
///
/// The first rank of one job listens, and the first rank of the other one connects. They make the handshake of a rendezvous, in which each
/// side proves that it knows the key of the invitation and says how many ranks its job brings. Then, in sealed frames:
///
///     connects → listens   introduction   name, settings
///     listens → connects   introduction   name, why it refuses (or nothing), size
///     listens → connects   invitation     where the rendezvous of both jobs is (or why there is none)
///
/// The key of that rendezvous follows from the handshake, so it does not go over the network between the two jobs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "bootstrap/poller.hpp"
#include "bootstrap/rendezvous/authenticating_acceptor.hpp"
#include "bootstrap/rendezvous/authentication.hpp"
#include "bootstrap/rendezvous/connection.hpp"
#include "bootstrap/waiting.hpp"

namespace rollcall::bootstrap {

/// What a job says of itself.
struct JobIntroduction {
    std::string name;
    /// The settings that must be the same in both jobs: "NAME=value", with a space between two of them.
    std::string settings;
    int size = 0;
};

/// The connection of two jobs that have met.
class JobMeeting {
  public:
    JobMeeting(Connection connection, JobIntroduction other, const Key& key)
        : connection_(std::move(connection)), other_(std::move(other)), key_(key) {}

    const JobIntroduction& other() const { return other_; }
    /// The key of the rendezvous of both jobs. The same on both sides, and another one for each meeting.
    const Key& key() const { return key_; }
    /// \{
    /// Passes the invitation to that rendezvous, or a failed_invitation(), from the job that listens to the other one. Throws
    /// Error{peer_failed} if the other job is gone, and Error{timeout}.
    void send_invitation(const std::string& invitation);
    std::string receive_invitation(const Meanwhile& meanwhile, Timeout timeout);
    /// \}
    /// Throws Error{peer_failed} if the other job is gone, or gave up. For the time in which nothing more is to come.
    void check_open();

  private:
    Connection connection_;
    JobIntroduction other_;
    Key key_;
};

/// Where other jobs connect. Used by one thread at a time.
class JobListener {
  public:
    /// Listens at any port, or at this one, on the interface that `net` (ROLLCALL_NET) tells. Throws Error{bootstrap, invalid_setting}.
    JobListener(std::string_view net, std::uint16_t port);

    /// Secret.
    const std::string& invitation() const { return invitation_; }
    /// Waits for one job. A job that is about to introduce itself when the time is over stays connected, and has its turn in a later call
    /// after those that came meanwhile. Throws Error{timeout} if none connects, and Error{invalid_setting} if it has other settings. What
    /// `meanwhile` throws ends the wait. While no job comes, `meanwhile` is called at this interval. A job that comes is noticed at once.
    JobMeeting accept(const JobIntroduction& mine, const Meanwhile& meanwhile, Timeout timeout, Nanoseconds interval = 2 * kMillisecond);

  private:
    struct Visitor {
        Visitor(Descriptor socket, Session session);

        Key key;  ///< Of the rendezvous of both jobs.
        Connection connection;
        Nanoseconds since;
    };
    JobListener(Descriptor listener, const Key& key);

    std::string invitation_;
    Poller poller_;
    std::deque<Visitor> visitors_;  ///< Jobs that have shown that they know the key, and wait.
    AuthenticatingAcceptor acceptor_;
};

/// Meets the job that listens. Throws Error{invalid_argument} if this is no invitation, Error{bootstrap} if no job listens there or if it
/// has another key or version, Error{invalid_setting} if it has other settings, Error{timeout} if it does not accept in time, and
/// Error{peer_failed} if it goes away.
JobMeeting meet_job(std::string_view invitation, const JobIntroduction& mine, const Meanwhile& meanwhile, Timeout timeout);

}  // namespace rollcall::bootstrap
