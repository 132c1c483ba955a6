/// \file
/// Notices on their way to one rank.
#pragma once

#include <deque>
#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/poller.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// The end of a rank's notice socket that notices are written to, and those that it has not taken yet: a rank that computes
/// reads none. Never blocks. Stays where it is while it is open.
class NoticeQueue {
  public:
    explicit NoticeQueue(Poller& poller) : poller_(poller) {}
    ~NoticeQueue() { close(); }
    NoticeQueue(const NoticeQueue&) = delete;
    NoticeQueue& operator=(const NoticeQueue&) = delete;

    void open(Descriptor socket) { socket_ = std::move(socket); }
    bool is_open() const { return static_cast<bool>(socket_); }
    /// Drops what was not taken.
    void close();
    /// Before it is open, and after it was closed, this does nothing.
    void send(std::shared_ptr<const Blob> notice);

  private:
    void send_those();

    Poller& poller_;
    Descriptor socket_;
    std::deque<std::shared_ptr<const Blob>> unsent_;
    bool waits_ = false;  // the poller waits for room in the socket
};

}  // namespace rollcall::bootstrap
