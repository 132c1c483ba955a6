#include "launcher/terminal.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "launcher/clock.hpp"

namespace rollcall::launcher {
namespace {

/// A launcher in the background may not read the terminal; it looks this often whether it may again.
constexpr Nanoseconds kBackgroundLook = 500 * kMillisecond;

}  // namespace

Terminal::Terminal(Poller& poller, int terminal, bootstrap::Descriptor pipe)
    : poller_(poller), terminal_(terminal), pipe_(std::move(pipe)), retry_at_(kNever) {
    ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
    poller_.add(terminal_, EPOLLIN, [this](std::uint32_t) { readable(); });
    poller_.add(pipe_.get(), 0, [this](std::uint32_t events) { writable((events & EPOLLERR) != 0); });
}

void Terminal::stop() {
    if (!pipe_) return;
    if (typed_.empty() && retry_at_ == kNever) poller_.remove(terminal_);
    poller_.remove(pipe_.get());
    pipe_.reset();
    retry_at_ = kNever;
}

void Terminal::retry() {
    retry_at_ = kNever;
    if (pipe_) poller_.add(terminal_, EPOLLIN, [this](std::uint32_t) { readable(); });
}

void Terminal::readable() {
    if (!pipe_ || !typed_.empty()) return;
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(terminal_, buffer.data(), buffer.size());
    if (count > 0) {
        typed_.assign(buffer.data(), static_cast<std::size_t>(count));
        // What the rank does not take stays in the terminal: read again when this is gone.
        poller_.remove(terminal_);
        poller_.change(pipe_.get(), EPOLLOUT);
    } else if (count < 0 && errno == EIO) {  // in the background, SIGTTIN being ignored
        poller_.remove(terminal_);
        retry_at_ = now() + kBackgroundLook;
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
        stop();
    }
}

void Terminal::writable(bool broken) {
    if (!pipe_) return;
    if (!broken && !typed_.empty()) {
        const ssize_t count = ::write(pipe_.get(), typed_.data(), typed_.size());
        if (count > 0) typed_.erase(0, static_cast<std::size_t>(count));
        if (count < 0 && errno != EAGAIN && errno != EINTR) broken = true;
    }
    if (broken) {
        stop();  // the rank reads no more
    } else if (typed_.empty()) {
        poller_.change(pipe_.get(), 0);
        poller_.add(terminal_, EPOLLIN, [this](std::uint32_t) { readable(); });
    }
}

}  // namespace rollcall::launcher
