/// \file
/// A rank's side of its connection to the hub of its node: in the launcher's process, or in the process of another rank.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frames.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// The first bytes that a socket holds. They are looked at and not taken.
struct Peeked {
    enum class State {
        nothing,  ///< Or only a part of a frame.
        closed,
        frame,
    };
    State state = State::nothing;
    Frame frame;
};

/// Looks for a frame that is no longer than a welcome. Never blocks. Throws Error{bootstrap} when what it sees is not
/// a frame.
Peeked peek_frame(int socket);
/// Takes the frame that was seen, and the descriptor that came with it (SCM_RIGHTS), if any. Returns false when it
/// cannot.
bool take_frame(int socket, const Frame& seen, Descriptor& passed);

/// The rules for threads are those of Bootstrap. Any thread may call abort() at any time.
class Member {
  public:
    /// What calls and notices report when the other side of the connection is gone.
    struct Loss {
        ErrorCode code;               ///< The code of the error that calls report if they wait for an answer,
        int rank;                     ///< with this failed rank,
        std::string sentence;         ///< and this sentence, without a full stop.
        std::vector<Notice> notices;  ///< For the thread that watches for deaths.
    };

    /// Takes over both sockets, after the welcome, and sends `join`. `hub_process` is readable when the process of
    /// the hub is dead. It is needed because a child of that process may hold its side of the sockets open. Throws
    /// Error{bootstrap}.
    Member(Place place, Descriptor control, Descriptor notices, Loss loss, Descriptor hub_process = {});

    const Place& place() const { return place_; }
    Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout);
    void barrier(const Meanwhile& meanwhile, Timeout timeout);
    int notice_descriptor() const { return notice_events_.get(); }
    std::optional<Notice> take_notice();
    void leave() noexcept;
    void farewell(std::string_view how) noexcept;
    void vanish() noexcept;
    void abort(int code, std::string_view why) noexcept;

  private:
    void post(Blob frame);
    bool flush();
    bool unsent();
    void push_out();
    Frame answer(std::uint64_t sequence, const Meanwhile& meanwhile, Timeout timeout);

    Place place_;
    Loss loss_;
    Descriptor control_;
    Inbox inbox_{kLongestAnswer};
    std::uint64_t sequence_ = 0;

    std::mutex sending_;  // abort() may come from any thread
    Outbox outbox_;

    std::mutex noticing_;
    Descriptor notices_;
    const Descriptor hub_process_;  // empty: only the sockets tell
    Descriptor notice_events_;      // epoll around those two: it can be silenced when the hub is gone, a socket cannot
    bool hub_gone_ = false;
    std::deque<Notice> last_notices_;
};

}  // namespace rollcall::bootstrap
