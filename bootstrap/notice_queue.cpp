#include "bootstrap/notice_queue.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace rollcall::bootstrap {

void NoticeQueue::close() {
    if (std::exchange(waits_, false)) poller_.remove(socket_.get());
    socket_.reset();
    unsent_.clear();
}

void NoticeQueue::send(std::shared_ptr<const Blob> notice) {
    if (!socket_) return;
    unsent_.push_back(std::move(notice));
    if (!waits_) send_those();
}

void NoticeQueue::send_those() {
    bool full = false;
    while (!unsent_.empty() && !full) {
        const Blob& notice = *unsent_.front();
        const ssize_t sent = ::send(socket_.get(), notice.data(), notice.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        full = sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (!full) unsent_.pop_front();  // a rank that is gone needs no notice
    }
    if (full == std::exchange(waits_, full)) return;
    if (full) {
        poller_.add(socket_.get(), EPOLLOUT, [this](std::uint32_t) { send_those(); });
    } else {
        poller_.remove(socket_.get());
    }
}

}  // namespace rollcall::bootstrap
