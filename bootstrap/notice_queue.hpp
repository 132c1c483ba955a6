/// \file
/// Sends notices to one rank.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/poller.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// The writing end of a rank's notice socket, and the notices that the rank has not taken yet, because a rank that
/// computes reads none. Never blocks. Must not be moved while it is open.
class NoticeQueue {
  public:
    explicit NoticeQueue(Poller& poller) : poller_(poller) {}
    ~NoticeQueue() { close(); }
    NoticeQueue(const NoticeQueue&) = delete;
    NoticeQueue& operator=(const NoticeQueue&) = delete;

    /// `gone`, if it is given, is called by the poller when no process has the other end any more. The queue is closed then.
    void open(Descriptor socket, std::function<void()> gone = {});
    bool is_open() const { return static_cast<bool>(socket_); }
    /// Drops the notices that were not taken.
    void close();
    /// Sends a notice. Does nothing before open() and after close().
    void send(std::shared_ptr<const Blob> notice);

  private:
    void send_pending();
    void wait_for_room(bool wanted);
    void heard(std::uint32_t events);

    Poller& poller_;
    Descriptor socket_;
    std::function<void()> gone_;  // if there is one, the poller always has the socket
    std::deque<std::shared_ptr<const Blob>> unsent_;
    bool waits_ = false;  // the poller waits for room in the socket
};

}  // namespace rollcall::bootstrap
