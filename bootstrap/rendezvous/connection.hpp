/// \file
/// A connection that a service holds: to a rank of its host, to the leader of another, or to the root.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "bootstrap/frames.hpp"
#include "bootstrap/rendezvous/authentication.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// Frames over a stream socket whose other side is known. Over a network, frames are sealed. Within a host the kernel vouches for the other
/// side. Never blocks.
class Connection {
  public:
    Connection(Descriptor socket, Session session, bool sealed);

    int socket() const { return socket_.get(); }
    const Identity& peer() const { return peer_; }
    /// Reads what is there. Returns false if the other side is gone; next() still returns what came before.
    bool receive() { return inbox_.receive(socket_.get()) == Inbox::State::open; }
    /// Returns the next frame. Throws Error{bootstrap} for a frame that the other side may not send.
    std::optional<Frame> next();
    /// Adds a frame, and sends what the socket takes. Returns false if the other side is gone. `digest` saves work for frames that go to
    /// several connections.
    bool post(const std::shared_ptr<const Blob>& frame, LastDigest& digest);
    bool post(const std::shared_ptr<const Blob>& frame) {
        LastDigest digest;
        return post(frame, digest);
    }
    bool flush() { return outbox_.send(socket_.get()); }
    bool flushed() const { return outbox_.empty(); }

  private:
    Descriptor socket_;
    Identity peer_;
    bool sealed_;
    Sealing sending_, receiving_;
    Inbox inbox_;
    Outbox outbox_;
    std::optional<Frame> unproven_;  ///< A frame whose seal has not come yet.
};

/// The handshake of the side that was connected to. Until it is done, only messages of fixed size are read, into memory of fixed size.
/// Never blocks.
class Greeting {
  public:
    Greeting(Descriptor socket, const Key& key, const Identity& self);

    int socket() const { return socket_.get(); }
    /// Handles what is there. Returns true when the handshake is done: then call session() and release(). Throws Error{bootstrap} if the
    /// other side belongs to another job, sends something else, or is gone.
    bool go_on();
    /// Whether the first message of the other side has come, and was answered.
    bool challenged() const { return challenged_; }
    Session session() const { return responder_.session(proof_); }
    Descriptor release() { return std::move(socket_); }

  private:
    bool fill(std::span<std::byte> message);

    Descriptor socket_;
    Responder responder_;
    Hello hello_{};
    Proof proof_{};
    std::size_t filled_ = 0;  ///< How much of the present message has been read.
    bool challenged_ = false;
};

}  // namespace rollcall::bootstrap
