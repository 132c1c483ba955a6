#include "launcher/streams/outlet.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rollcall::launcher {

bool Outlet::open(int descriptor, Changed changed) {
    descriptor_ = descriptor;
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return false;
    if (S_ISSOCK(status.st_mode)) {
        kind_ = socket;
    } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
        // O_NONBLOCK would hold for all processes that share the open file description, and the shell shares it. So we open one of our own.
        // Where that is not allowed, we poll and write small pieces.
        own_.reset(::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        kind_ = own_ ? stream : shared_stream;
        if (own_) descriptor_ = own_.get();
    } else {
        kind_ = file;
        return true;
    }
    polled_ = poller_.add(descriptor_, 0, [this, changed = std::move(changed)](std::uint32_t events) {
        // The reader of a pipe is gone. This is reported at once: ranks that write without end would otherwise go on until the job ends.
        const bool gone = (events & (EPOLLERR | EPOLLHUP)) != 0;
        if (gone || armed_) changed(gone);
    });
    if (!polled_ && kind_ == shared_stream) kind_ = file;
    return true;
}

bool Outlet::create(const std::string& path) {
    own_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    descriptor_ = own_.get();
    return static_cast<bool>(own_);
}

long Outlet::write_some() {
    const char* const data = waiting_.data() + written_;
    if (kind_ == socket) return ::send(descriptor_, data, size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (kind_ != shared_stream) return ::write(descriptor_, data, size());
    pollfd room{descriptor_, POLLOUT, 0};
    if (::poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return ::write(descriptor_, data, std::min<std::size_t>(size(), PIPE_BUF));
}

int Outlet::flush() {
    while (size() > 0) {
        const long count = write_some();
        if (count >= 0) {
            written_ += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN && polled_) {
            break;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    if (size() == 0) {
        waiting_.clear();
        written_ = 0;
    } else if (written_ > waiting_.size() / 2) {
        waiting_.erase(0, written_);
        written_ = 0;
    }
    const bool arm = size() > 0;
    if (polled_ && arm != armed_) poller_.change(descriptor_, arm ? EPOLLOUT : 0u);
    armed_ = arm;
    return 0;
}

int Outlet::check_file() const {
    if (kind_ != file || descriptor_ < 0) return 0;
    // Other processes have the same file open, so it is a copy that is closed: the kernel writes out what is waiting at each close.
    const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    return copy < 0 || ::close(copy) == 0 || errno == EINTR ? 0 : errno;
}

int Outlet::close_file() {
    descriptor_ = -1;
    const int descriptor = own_.release();
    return descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

void Outlet::close() {
    waiting_.clear();
    written_ = 0;
    if (std::exchange(polled_, false)) poller_.remove(descriptor_);
}

}  // namespace rollcall::launcher
