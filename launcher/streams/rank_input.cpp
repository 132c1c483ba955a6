#include "launcher/streams/rank_input.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rollcall::launcher {

void RankInput::open(Descriptor pipe) {
    pipe_ = std::move(pipe);
    poller_.add(pipe_.get(), 0, [this](std::uint32_t events) {
        if ((events & EPOLLERR) != 0) {
            close();
        } else {
            write();
        }
    });
}

void RankInput::take(std::string_view bytes) {
    if (!pipe_) return taken_(bytes.size(), true);
    typed_.append(bytes);
    ends_ = ends_ || bytes.empty();
    write();
}

void RankInput::write() {
    if (!pipe_) return;
    std::size_t taken = 0;
    while (taken < typed_.size()) {
        const ssize_t count = ::write(pipe_.get(), typed_.data() + taken, typed_.size() - taken);
        if (count > 0) {
            taken += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            close();  // the rank reads no more
            return;
        }
    }
    typed_.erase(0, taken);
    if (typed_.empty() && ends_) {
        poller_.remove(pipe_.get());
        pipe_.reset();
    } else {
        poller_.change(pipe_.get(), typed_.empty() ? 0u : EPOLLOUT);
    }
    if (taken > 0) taken_(taken, !pipe_);
}

void RankInput::close() {
    if (!pipe_) return;
    poller_.remove(pipe_.get());
    pipe_.reset();
    taken_(std::exchange(typed_, {}).size(), true);
}

}  // namespace rollcall::launcher
