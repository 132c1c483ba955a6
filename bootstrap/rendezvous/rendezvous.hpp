/// \file
/// How processes that another starter than `rollcall run` has started find each other, and stay in touch.
///
/// A starter gives each process a rank, the size, and a way to pass one short text from rank 0 to all: the invitation. Everything else is
/// done here. On each host one process leads: the first that binds a socket whose name comes from the job's key. The leaders connect to
/// rank 0 by TCP. On every connection both sides prove that they know the key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/time.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/invitation.hpp"
#include "foundation/settings.hpp"

namespace rollcall::bootstrap {

/// Passes rank 0's invitation to all ranks. Rank 0 gives its invitation, or the reason why it has none. The other ranks give an empty text.
/// The function returns rank 0's text on all ranks. Each process calls it once, from the thread that constructs the Rendezvous, and again
/// only if RendezvousOptions::invitation_may_be_stale is set. The text has at most kLongestInvitation characters. All are printable, and
/// none is a space.
using Share = std::function<std::string(std::string mine)>;

struct RendezvousOptions {
    Timeout join_timeout = std::chrono::seconds(60);  ///< From the construction until all ranks have come.
    Meanwhile meanwhile;                              ///< Called by the constructor while it waits. What it throws ends the wait.
    std::string net;                                  ///< ROLLCALL_NET: on which interface rank 0 listens, if `addresses` is empty.
    std::vector<std::string> addresses;               ///< The numeric addresses where rank 0 listens, if the starter dictates them.
    std::uint16_t port = 0;                           ///< 0: any.
    std::vector<std::uint16_t> more_ports;            ///< Rank 0 uses the first free one of `port` and these; the others try all.
    /// The invitation of a root that already exists. If it is given, rank 0 makes no root, and the starter is not asked to pass an
    /// invitation.
    std::string invitation;
    /// \{ For errors: who has the root, and what it means if nobody answers there.
    std::string root = "rank 0";
    std::string absence = "has not come";
    /// \}
    std::string port_advice;     ///< A clause that says what to do if `port` is taken.
    std::string address_advice;  ///< A clause that says where rank 0's address comes from. Empty: one says what ROLLCALL_NET does.
    std::string absence_advice;  ///< A clause that says why ranks may be missing, for the error of rank 0.
    std::string meeting;         ///< Ranks of a host whose texts here differ do not meet, even if they have the same key.
    std::optional<Key> key;      ///< If the starter dictates it; otherwise rank 0 makes one.
    bool invitation_may_be_stale = false;         ///< Whether to ask for the invitation again while there is no answer at it.
    Timeout heartbeat = std::chrono::seconds(1);  ///< Between leaders and rank 0.
    Timeout silence = std::chrono::seconds(10);   ///< After this silence a host counts as lost; 0: never.
    std::string host;  ///< This host's name; empty: the system's. Ranks whose hosts have different names never share a leader.
};

/// Returns the options that the settings give: ROLLCALL_LAUNCH_TIMEOUT, ROLLCALL_NET, ROLLCALL_PORT, ROLLCALL_HEARTBEAT, ROLLCALL_SILENCE.
RendezvousOptions rendezvous_options(const Settings& settings);
/// Does the same with the settings of the environment. Throws Error{invalid_setting}.
RendezvousOptions rendezvous_options();

/// The rules for threads are those of Bootstrap. Any thread may call abort() at any time. The process that leads its host has one thread
/// more, which sleeps until something happens.
///
/// When a rank dies, all ranks are told. When the leader of a host dies, all ranks of its host count as lost. When rank 0 dies, all ranks
/// hear that the job cannot go on.
class Rendezvous final : public Bootstrap {
  public:
    /// Collective over the job: returns when all ranks have come. name() returns `starter`. Throws Error{bootstrap} if a rank came twice,
    /// if ranks were told different sizes, or if the system refuses something. Throws Error{timeout}, which names the missing ranks.
    Rendezvous(std::string starter, int rank, int size, const Share& share, const RendezvousOptions& options);
    ~Rendezvous() override;

    std::string_view name() const override;
    const Place& place() const override;
    Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override;
    void barrier(const Meanwhile& meanwhile, Timeout timeout) override;
    int notice_descriptor() const override;
    std::optional<Notice> take_notice() override;
    /// Waits, for some seconds at most, for the processes that depend on this one: rank 0 waits for all, a leader for its host.
    void leave() noexcept override;
    void farewell(std::string_view how) noexcept override;
    void vanish() noexcept override;
    /// Tells all other ranks that the job is being ended, and why. Their processes end themselves.
    void abort(int code, std::string_view why) noexcept override;
    /// abort() in two steps: say_abort() writes to standard error, tell_abort() tells the other ranks. A process manager can be told in
    /// between.
    void say_abort(int code, std::string_view why) const noexcept;
    void tell_abort(int code, std::string_view why) noexcept;

  private:
    void end_services() noexcept;

    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall::bootstrap
