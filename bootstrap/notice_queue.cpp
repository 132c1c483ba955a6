#include "bootstrap/notice_queue.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace rollcall::bootstrap {

void NoticeQueue::open(Descriptor socket, std::function<void()> gone) {
    socket_ = std::move(socket);
    gone_ = std::move(gone);
    // epoll reports the end of the other side even if nothing is asked for.
    if (gone_) poller_.add(socket_.get(), 0, [this](std::uint32_t events) { heard(events); });
}

void NoticeQueue::close() {
    if (waits_ || gone_) poller_.remove(socket_.get());
    waits_ = false;
    gone_ = {};
    socket_.reset();
    unsent_.clear();
}

void NoticeQueue::send(std::shared_ptr<const Blob> notice) {
    if (!socket_) return;
    unsent_.push_back(std::move(notice));
    if (!waits_) send_pending();
}

void NoticeQueue::send_pending() {
    bool full = false;
    while (!unsent_.empty() && !full) {
        const Blob& notice = *unsent_.front();
        const ssize_t sent = ::send(socket_.get(), notice.data(), notice.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        full = sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (!full) unsent_.pop_front();  // a rank that is gone needs no notice
    }
    wait_for_room(full);
}

void NoticeQueue::wait_for_room(bool wanted) {
    if (wanted == std::exchange(waits_, wanted)) return;
    if (gone_) {
        poller_.change(socket_.get(), wanted ? std::uint32_t{EPOLLOUT} : 0);
    } else if (wanted) {
        poller_.add(socket_.get(), EPOLLOUT, [this](std::uint32_t events) { heard(events); });
    } else {
        poller_.remove(socket_.get());
    }
}

void NoticeQueue::heard(std::uint32_t events) {
    if (!gone_ || (events & EPOLLHUP) == 0) return send_pending();
    const auto gone = gone_;
    close();
    gone();
}

}  // namespace rollcall::bootstrap
