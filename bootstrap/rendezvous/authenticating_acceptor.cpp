#include "bootstrap/rendezvous/authenticating_acceptor.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/network.hpp"
#include "foundation/error_text.hpp"
#include "foundation/log.hpp"

namespace rollcall::bootstrap {
namespace {

/// At most this many connections are accepted in one go, so that other work gets its turn.
constexpr int kAcceptedAtOnce = 16;
/// When no descriptor is left, listening pauses for this long.
constexpr Nanoseconds kPause = 50 * kMillisecond;

}  // namespace

AuthenticatingAcceptor::AuthenticatingAcceptor(Poller& poller, const Key& key, const Identity& self, Admit admit, Limits limits)
    : poller_(poller), key_(key), self_(self), admit_(std::move(admit)), limits_(limits) {}

AuthenticatingAcceptor::~AuthenticatingAcceptor() {
    for (const Guest& guest : guests_) poller_.remove(guest.greeting.socket());
    for (const Listener& listener : listeners_) {
        if (listener.waiting) poller_.remove(listener.socket.get());
    }
    if (dropped_ > 1) log_message(LogLevel::debug, "in all, {} connections that were not of this job were dropped", dropped_);
}

void AuthenticatingAcceptor::open(Descriptor socket, From from, std::deque<Descriptor> early) {
    socket.keep_from_children();
    listeners_.push_back({std::move(socket), from, std::move(early)});
    Listener& listener = listeners_.back();
    if (!listener.early.empty()) early_at_ = monotonic_now();
    poller_.add(listener.socket.get(), EPOLLIN, [this, &listener](std::uint32_t) { accept(listener); });
}

Nanoseconds AuthenticatingAcceptor::tick_at() const {
    const Nanoseconds oldest = guests_.empty() ? kNever : guests_.front().since + limits_.patience;
    return std::min({oldest, resume_at_, early_at_});
}

bool AuthenticatingAcceptor::some_are_early() const {
    return std::any_of(listeners_.begin(), listeners_.end(), [](const Listener& listener) { return !listener.early.empty(); });
}

void AuthenticatingAcceptor::tick() {
    const Nanoseconds time = monotonic_now();
    while (!guests_.empty() && guests_.front().since + limits_.patience <= time) drop(guests_.begin(), "its handshake took too long");
    if (resume_at_ <= time) resume();
    if (early_at_ > time) return;
    for (Listener& listener : listeners_) {
        if (listener.waiting && !listener.early.empty()) accept(listener);
    }
    // While listening pauses, they wait, too.
    early_at_ = resume_at_ == kNever && some_are_early() ? monotonic_now() : kNever;
}

void AuthenticatingAcceptor::accept(Listener& listener) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
        const bool full = guests_.size() >= limits_.half_open;
        if (full && monotonic_now() - guests_.front().since < limits_.young) return pause();
        Descriptor socket;
        if (!listener.early.empty()) {
            socket = std::move(listener.early.front());
            listener.early.pop_front();
        } else {
            socket = Descriptor(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        }
        if (!socket) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) return;
            if (accept_failure_.empty()) {
                accept_failure_ = error_text(errno);
                log_message(LogLevel::warn, "this process cannot accept all connections: {}; raise its limit of open files (ulimit -n)",
                            accept_failure_);
            }
            if (guests_.empty()) return pause();
            drop(guests_.begin(), "the limit of open files is reached");
            continue;
        }
        socket.keep_from_children();
        pid_t process = 0;
        if (listener.from == From::host) {
            const auto known = process_of_same_user(socket.get());
            if (!known) {
                count("it belongs to another user");
                continue;
            }
            process = *known;
        } else {
            const int on = 1;
            ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        // A handshake is given up only for a connection that stays. So another user of this host cannot end it.
        if (full) drop(guests_.begin(), "too many others connected before it had shown that it knows the key");
        const auto guest =
            guests_.insert(guests_.end(), Guest{Greeting(std::move(socket), key_, self_), listener.from, process, monotonic_now()});
        poller_.add(guest->greeting.socket(), EPOLLIN, [this, guest](std::uint32_t) { go_on(guest); });
    }
}

void AuthenticatingAcceptor::go_on(Guests::iterator guest) {
    std::optional<Session> session;
    const bool challenged = guest->greeting.challenged();
    try {
        if (!guest->greeting.go_on()) {
            if (challenged || !guest->greeting.challenged()) return;
            // It waited for the challenge, perhaps for long, because nobody looked. The time for its answer begins now.
            guest->since = monotonic_now();
            return guests_.splice(guests_.end(), guests_, guest);
        }
        session = guest->greeting.session();
    } catch (const Error& error) {
        return drop(guest, error.what());
    }
    poller_.remove(guest->greeting.socket());
    Descriptor socket = guest->greeting.release();
    const From from = guest->from;
    const pid_t process = guest->process;
    guests_.erase(guest);
    resume();
    admit_(std::move(socket), std::move(*session), from, process);
}

void AuthenticatingAcceptor::drop(Guests::iterator guest, const std::string& why) {
    poller_.remove(guest->greeting.socket());
    guests_.erase(guest);
    count(why);
    resume();
}

void AuthenticatingAcceptor::count(const std::string& why) {
    // The warning comes only once, because a stranger that connects again and again must not fill the log.
    last_drop_ = why;
    if (++dropped_ == 1) log_message(LogLevel::warn, "a connection that is not of this job was dropped: {}", why);
}

std::string AuthenticatingAcceptor::trouble() const {
    std::string text;
    if (dropped_ > 0)
        text += fmt::format("; {} {} dropped (last: {})", dropped_, dropped_ == 1 ? "connection was" : "connections were", last_drop_);
    if (!accept_failure_.empty()) text += fmt::format("; connections could not be accepted: {} (ulimit -n)", accept_failure_);
    return text;
}

void AuthenticatingAcceptor::pause() {
    for (Listener& listener : listeners_) {
        if (std::exchange(listener.waiting, false)) poller_.remove(listener.socket.get());
    }
    resume_at_ = monotonic_now() + kPause;
}

void AuthenticatingAcceptor::resume() {
    resume_at_ = kNever;
    if (some_are_early()) early_at_ = monotonic_now();
    for (Listener& listener : listeners_) {
        if (std::exchange(listener.waiting, true)) continue;
        poller_.add(listener.socket.get(), EPOLLIN, [this, &listener](std::uint32_t) { accept(listener); });
    }
}

}  // namespace rollcall::bootstrap
