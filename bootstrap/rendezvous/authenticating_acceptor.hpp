/// \file
/// Where processes of the job come in, and others do not.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>

#include "bootstrap/poller.hpp"
#include "bootstrap/rendezvous/connection.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// Accepts connections and holds them until they have shown that they know the key. A connection that does not show it in time is dropped
/// and counted. Not thread-safe.
class AuthenticatingAcceptor {
  public:
    struct Limits {
        std::size_t half_open = 64;  ///< Handshakes under way. Further connections wait in the kernel, or replace the oldest one.
        Nanoseconds patience = 5'000 * kMillisecond;  ///< The time for each of the two messages of one handshake.
        Nanoseconds young = 100 * kMillisecond;       ///< A handshake that began less than this ago is not given up for a new connection.
    };

    enum class From { host, network };
    /// Takes a process of the job, and its process number (0: not known).
    using Admit = std::function<void(Descriptor socket, Session session, From from, pid_t process)>;

    AuthenticatingAcceptor(Poller& poller, const Key& key, const Identity& self, Admit admit, Limits limits);
    AuthenticatingAcceptor(Poller& poller, const Key& key, const Identity& self, Admit admit)
        : AuthenticatingAcceptor(poller, key, self, std::move(admit), Limits()) {}
    ~AuthenticatingAcceptor();
    AuthenticatingAcceptor(const AuthenticatingAcceptor&) = delete;
    AuthenticatingAcceptor& operator=(const AuthenticatingAcceptor&) = delete;

    /// `early` are connections that were accepted from this listener before. They have their turn first.
    void open(Descriptor listener, From from, std::deque<Descriptor> early = {});
    /// When tick() is due.
    Nanoseconds tick_at() const;
    void tick();

    std::uint64_t dropped() const { return dropped_; }
    /// A clause, after a semicolon, about connections that did not get in. Empty if there was no trouble.
    std::string trouble() const;
    std::size_t half_open() const { return guests_.size(); }

  private:
    struct Listener {
        Descriptor socket;
        From from;
        std::deque<Descriptor> early;
        bool waiting = true;  ///< Whether the poller watches it.
    };
    struct Guest {
        Greeting greeting;
        From from;
        pid_t process;
        Nanoseconds since;  ///< When its connection was accepted, or its first message was answered.
    };
    using Guests = std::list<Guest>;

    void accept(Listener& listener);
    bool some_are_early() const;
    void go_on(Guests::iterator guest);
    void drop(Guests::iterator guest, const std::string& why);
    void count(const std::string& why);
    void pause();
    void resume();

    Poller& poller_;
    Key key_;
    Identity self_;
    Admit admit_;
    Limits limits_;
    std::list<Listener> listeners_;
    Guests guests_;  ///< Oldest first.
    Nanoseconds resume_at_ = kNever;
    Nanoseconds early_at_ = kNever;  ///< When those who were accepted early have their turn: nothing wakes the poller for them.
    std::uint64_t dropped_ = 0;
    std::string last_drop_;       ///< Why.
    std::string accept_failure_;  ///< The system's message about the first connection that could not be accepted.
};

}  // namespace rollcall::bootstrap
