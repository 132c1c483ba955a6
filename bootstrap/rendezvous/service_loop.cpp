#include "bootstrap/rendezvous/service_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/rendezvous/network.hpp"
#include "foundation/error_text.hpp"
#include "foundation/log.hpp"

namespace rollcall::bootstrap {
namespace {

/// If a turn comes later than planned by this much, this process was stopped, or its host was asleep.
constexpr Nanoseconds kHeldUp = 500 * kMillisecond;

std::shared_ptr<const Blob> heartbeat_frame() {
    // The thread of a root that this process hosts goes on while static objects are destroyed.
    static const auto& frame = *new std::shared_ptr<const Blob>(std::make_shared<const Blob>(FrameWriter(FrameType::heartbeat).finish()));
    return frame;
}

constexpr const char* kClosed = "closed its connection: it died, or left without saying so";

}  // namespace

Service::Loop::Loop(ServiceOptions options, Descriptor local, std::optional<Root> root, std::optional<Leader> leader)
    : options_(std::move(options)), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), assembly_(options_.self.size) {
    if (!bell_) throw Error(ErrorCode::bootstrap, fmt::format("the rendezvous cannot make an event descriptor: {}", error_text(errno)));
    bell_.keep_from_children();
    poller_.keep_from_children();
    poller_.add(bell_.get(), EPOLLIN, [this](std::uint32_t) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t taken = ::read(bell_.get(), &count, sizeof count);
    });
    acceptor_.emplace(poller_, options_.key, options_.self,
                      [this](Descriptor socket, Session session, AuthenticatingAcceptor::From from, pid_t process) {
                          admit(std::move(socket), std::move(session), from, process);
                      });
    if (local)
        acceptor_->open(std::move(local), AuthenticatingAcceptor::From::host, leader ? std::move(leader->early) : std::deque<Descriptor>());
    if (root) {
        for (Descriptor& network : root->networks) acceptor_->open(std::move(network), AuthenticatingAcceptor::From::network);
    }
    if (leader) root_ = add(std::move(leader->socket), std::move(leader->session), true).number;
    // The root reports which ranks are missing. A root that does not know the size yet was made before any rank was asked to come, and has
    // no deadline.
    if (is_root() && options_.self.size > 0) assembled_by_ = deadline_after(options_.join_timeout);
    if (options_.heartbeat > Timeout::zero()) {
        if (options_.silence > Timeout::zero()) options_.heartbeat = std::min(options_.heartbeat, options_.silence / 3);
        beat_at_ = deadline_after(options_.heartbeat);
    }
}

Service::Loop::~Loop() = default;

void Service::Loop::wake(Wish wish, Timeout limit) {
    finish_by_ = deadline_after(limit);
    wish_ = wish;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
}

bool Service::Loop::announce(Notice notice, Timeout limit) {
    std::unique_lock lock(announcing_);
    announcement_ = std::move(notice);
    announced_ = false;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
    return announcement_is_out_.wait_for(lock, limit, [this] { return announced_; });
}

void Service::Loop::announce_now() {
    const std::lock_guard lock(announcing_);
    if (announcement_) {
        end_job(std::make_shared<const Blob>(encode_notice(*announcement_)), nullptr);
        announcement_.reset();
        announcing_now_ = true;
    }
    if (!announcing_now_ || !flushed()) return;
    announcing_now_ = false;
    announced_ = true;
    announcement_is_out_.notify_all();
}

void Service::Loop::run() {
    while (!is_over()) {
        const Nanoseconds expected = next_moment();
        try {
            poller_.wait(expected);
            keep_time(expected);
            process_losses();
            announce_now();
        } catch (const std::exception& error) {  // probably out of memory; the processes that were served must do without this service
            log_message(LogLevel::err, "the rendezvous: {}", error.what());
        }
    }
    try {
        say_farewell();
    } catch (const std::exception&) {  // the others see that this service is gone
    }
    acceptor_.reset();
    while (!peers_.empty()) drop(peers_.begin()->first);
}

bool Service::Loop::is_over() {
    const Wish wish = wish_.load();
    if (wish == Wish::stop || (wish == Wish::finish && finish_by_.load() <= monotonic_now())) return true;
    if (stage_ == Stage::assembling) return false;
    if (stage_ == Stage::refused) {
        // If the root belongs to no rank, no call tells it that it is not needed any more.
        const bool forgotten = options_.self.rank < 0 && peers_.empty() && assembled_by_ <= monotonic_now();
        return forgotten || (wish == Wish::finish && flushed() && !has_leaders());
    }
    if (!all_left() || !flushed()) return false;
    if (is_root()) return true;
    // If this side closed while data was unread, the data that it sent last would be lost, too. So the other side closes first.
    if (wish != Wish::finish) return false;
    if (const auto found = peers_.find(root_); found != peers_.end()) {
        if (!std::exchange(said_goodbye_, true)) {
            found->second->left = true;
            ::shutdown(found->second->connection.socket(), SHUT_WR);
        }
        return false;
    }
    return true;
}

Nanoseconds Service::Loop::next_moment() const {
    Nanoseconds moment = std::min({acceptor_->tick_at(), beat_at_, hub_ ? hub_->tick_at() : kNever});
    const bool may_be_forgotten = stage_ == Stage::refused && options_.self.rank < 0 && peers_.empty();
    if (stage_ == Stage::assembling || may_be_forgotten) moment = std::min(moment, assembled_by_);
    if (wish_.load() == Wish::finish) moment = std::min(moment, finish_by_.load());
    return moment;
}

void Service::Loop::keep_time(Nanoseconds expected) {
    const Nanoseconds time = monotonic_now();
    if (expected != kNever && time > expected + kHeldUp) {
        // Other processes may have sent data while this one did not run. So that time does not count as their silence. The time before it
        // does: on a busy host, hold-ups that come again and again must not keep a silent process forever.
        for (const auto& [number, peer] : peers_) peer->heard_at = std::min(time, peer->heard_at + (time - expected));
    }
    if (acceptor_->tick_at() <= time) acceptor_->tick();
    if (beat_at_ <= time) beat(time);
    if (hub_) hub_->tick();
    if (stage_ == Stage::assembling && assembled_by_ <= time) {
        const double seconds = std::chrono::duration<double>(options_.join_timeout).count();
        std::string why = acceptor_->trouble();
        if (!options_.absence_advice.empty()) why += "; " + options_.absence_advice;
        refuse(Error(ErrorCode::timeout,
                     fmt::format("the job cannot start: within {:g} s {} did not come{}", seconds, assembly_.missing(), why)));
    }
}

void Service::Loop::beat(Nanoseconds time) {
    beat_at_ = time + options_.heartbeat.count();
    for (const auto& [number, peer] : peers_) {
        if (peer->kind() == Identity::Kind::rank) continue;
        if (options_.silence > Timeout::zero() && time - peer->heard_at > options_.silence.count()) {
            lose_later(*peer, fmt::format("has not been heard of for {:g} s", std::chrono::duration<double>(options_.silence).count()));
        } else if (!said_goodbye_) {
            post(*peer, heartbeat_frame());
        }
    }
}

bool Service::Loop::flushed() const {
    return std::all_of(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second->connection.flushed(); });
}

bool Service::Loop::has_leaders() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second->kind() == Identity::Kind::leader; });
}

Service::Loop::Peer& Service::Loop::add(Descriptor socket, Session session, bool sealed) {
    socket.keep_from_children();
    auto peer = std::make_unique<Peer>(poller_, std::move(socket), std::move(session), sealed);
    peer->number = next_number_++;
    peer->heard_at = monotonic_now();
    const int number = peer->number;
    poller_.add(peer->connection.socket(), EPOLLIN, [this, number](std::uint32_t) { hear(number); });
    return *peers_.emplace(number, std::move(peer)).first->second;
}

void Service::Loop::admit(Descriptor socket, Session session, AuthenticatingAcceptor::From from, pid_t process) {
    const bool local = from == AuthenticatingAcceptor::From::host;
    if (session.peer.kind != (local ? Identity::Kind::rank : Identity::Kind::leader)) return;
    Peer& peer = add(std::move(socket), std::move(session), !local);
    if (stage_ == Stage::refused) return refuse(peer, *refusal_);
    if (stage_ == Stage::running) {
        return refuse(peer, Error(ErrorCode::state, fmt::format("the job that waits there has all of its {} ranks", assembly_.size())));
    }
    if (local) {
        // A child of the rank may hold its connection open after the rank's death.
        peer.process = watch_process(process);
        peer.process.keep_from_children();
        const int number = peer.number;
        if (peer.process) {
            poller_.add(peer.process.get(), EPOLLIN, [this, number](std::uint32_t) {
                hear(number);
                if (const auto found = peers_.find(number); found != peers_.end()) lose_later(*found->second, "died");
            });
        }
        ranks_.try_emplace(peer.rank(), peer.number);
        arrived(0, options_.host, peer.rank(), peer.connection.peer().size);
    }
    hear(peer.number);  // it may already have sent more
}

void Service::Loop::hear(int number) {
    const auto found = peers_.find(number);
    if (found == peers_.end()) return;
    Peer& peer = *found->second;
    const bool open = peer.connection.receive();
    peer.heard_at = monotonic_now();
    try {
        while (const auto frame = peer.connection.next()) handle(peer, *frame);
    } catch (const Error& error) {
        return lose_later(peer, fmt::format("broke the rules of the bootstrap: {}", error.what()));
    }
    if (!open) return lose_later(peer, kClosed);
    flush(peer);
}

void Service::Loop::post(Peer& peer, const std::shared_ptr<const Blob>& frame) {
    if (!peer.connection.post(frame, last_digest_)) return lose_unheard(peer);
    flush(peer);
}

void Service::Loop::flush(Peer& peer) {
    if (!peer.connection.flush()) return lose_unheard(peer);
    const bool sending = !peer.connection.flushed();
    if (std::exchange(peer.sending, sending) != sending) {
        poller_.change(peer.connection.socket(), sending ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

void Service::Loop::drop(int number) {
    const auto found = peers_.find(number);
    if (found == peers_.end()) return;
    Peer& peer = *found->second;
    poller_.remove(peer.connection.socket());
    if (peer.process) poller_.remove(peer.process.get());
    if (const auto rank = ranks_.find(peer.rank()); peer.kind() == Identity::Kind::rank && rank != ranks_.end() && rank->second == number) {
        ranks_.erase(rank);
    }
    if (peer.hub >= 0) hubs_.erase(peer.hub);
    if (number == root_) root_ = 0;
    peers_.erase(found);
}

/// The caller may go on using the peer. So the peer is removed only at the end of the turn.
void Service::Loop::lose_later(Peer& peer, std::string how) {
    const auto known = [&](const auto& entry) { return entry.first == peer.number; };
    if (std::none_of(losing_.begin(), losing_.end(), known)) losing_.emplace_back(peer.number, std::move(how));
}

/// The peer takes nothing any more. What it sent last may say why it went.
void Service::Loop::lose_unheard(Peer& peer) {
    peer.unheard = true;
    lose_later(peer, kClosed);
}

void Service::Loop::process_losses() {
    while (!losing_.empty()) {
        const auto [number, how] = std::move(losing_.front());
        losing_.erase(losing_.begin());
        const auto found = peers_.find(number);
        if (found == peers_.end()) continue;
        const std::unique_ptr<Peer>& peer = found->second;
        if (std::exchange(peer->unheard, false)) hear(number);
        if (!peer->left) lost(*peer, peer->farewell.empty() ? how : peer->farewell);
        drop(number);
    }
}

/// This service ends together with its rank. If the rank has said why it goes, the others hear that before they see the end.
void Service::Loop::say_farewell() {
    const auto own = ranks_.find(options_.self.rank);
    if (stage_ != Stage::running || own == ranks_.end()) return;
    hear(own->second);
    const Peer& peer = *peers_.at(own->second);
    if (peer.left || peer.farewell.empty()) return;
    hub_->lose(peer.rank(), peer.farewell);
    hub_->tell_collected();
}

}  // namespace rollcall::bootstrap
