#include "bootstrap/rendezvous/connection.hpp"

#include <cerrno>

#include <sys/socket.h>
#include <rollcall/error.hpp>

namespace rollcall::bootstrap {

Connection::Connection(Descriptor socket, Session session, bool sealed)
    : socket_(std::move(socket)),
      peer_(session.peer),
      sealed_(sealed),
      sending_(session.send),
      receiving_(session.receive),
      // A rank sends its own blob. Hubs send and receive the blobs of many ranks.
      inbox_(peer_.kind == Identity::Kind::rank ? kLongestRequest : kLongestAnswer) {}

std::optional<Frame> Connection::next() {
    while (auto frame = inbox_.next()) {
        if (!sealed_) return frame;
        if (!unproven_) {
            unproven_ = std::move(frame);
            continue;
        }
        receiving_.check(*unproven_, *frame);
        return std::exchange(unproven_, std::nullopt);
    }
    return std::nullopt;
}

bool Connection::post(const std::shared_ptr<const Blob>& frame, LastDigest& digest) {
    if (!sealed_ && outbox_.empty() && hand_out(socket_.get(), frame)) return true;
    outbox_.add(frame);
    if (sealed_) outbox_.add(sending_.seal(*frame, digest.of(frame)));
    return flush();
}

Greeting::Greeting(Descriptor socket, const Key& key, const Identity& self) : socket_(std::move(socket)), responder_(key, self) {}

bool Greeting::fill(std::span<std::byte> message) {
    while (filled_ < message.size()) {
        const ssize_t count = ::recv(socket_.get(), message.data() + filled_, message.size() - filled_, MSG_DONTWAIT);
        if (count > 0) {
            filled_ += static_cast<std::size_t>(count);
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return false;
        } else if (count == 0 || errno != EINTR) {
            throw Error(ErrorCode::bootstrap, "the other side closed the connection during the handshake");
        }
    }
    filled_ = 0;
    return true;
}

bool Greeting::go_on() {
    if (!challenged_) {
        if (!fill(hello_)) return false;
        const Challenge challenge = responder_.answer(hello_);
        // Nothing was sent on this socket before, so it has room for the challenge.
        if (::send(socket_.get(), challenge.data(), challenge.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
            static_cast<ssize_t>(challenge.size())) {
            throw Error(ErrorCode::bootstrap, "the other side closed the connection during the handshake");
        }
        challenged_ = true;
    }
    return fill(proof_);
}

}  // namespace rollcall::bootstrap
