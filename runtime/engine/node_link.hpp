/// \file
/// What an engine has to do with the other ranks of its node: node memory, which operations watch, the mailboxes for short messages, and
/// how ranks that sleep are woken.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/messages/message.hpp"
#include "runtime/messages/peers.hpp"
#include "runtime/node/node_memory.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class Engine;
class Operation;

/// Owner-only. The engine owns it.
class NodeLink {
  public:
    explicit NodeLink(Engine& engine) noexcept : engine_(engine) {}

    void set_memory(node::NodeMemory* memory) noexcept;  ///< As Engine::set_node().
    node::NodeMemory* memory() const noexcept { return memory_; }
    /// Short messages of other ranks of the node. Null: they come over the transport.
    node::Inbox* mail() const noexcept { return mail_; }

    /// The operation waits and has used node memory: look() looks at it from now on.
    void watch(Operation& operation);
    void stop_watching(Operation& operation);
    bool is_watched() const noexcept { return !users_.empty(); }
    unsigned look();  ///< Returns the number of operations that can go on.

    /// Receives the short messages that other ranks of the node have written. There must be a mailbox.
    unsigned take_mail() noexcept;
    /// Opens a mailbox of a peer to which this rank sends many messages, if they can have one.
    void open_outbox(int to, PeerState& peer);
    /// Writes a short message into the peer's mailbox, which must be open. Returns false if it must go over the transport.
    bool send(int to, PeerState& peer, const CompactHeader& header, transport::ConstBytes payload);

    /// Tells rank `to` of the operation's communicator, or all its readers where `to` is negative, that node memory has changed.
    void tell(const Operation& operation, int to);
    bool wake(int peer) noexcept;                               ///< Wakes it if it sleeps, and returns whether it does.
    bool owes_nudges() const noexcept { return owes_nudges_; }  ///< There was no memory to wake a rank: nudge_again() is to be called.
    void nudge_again() noexcept;
    void set_sleeping(bool sleeps) noexcept;

  private:
    bool nudge(int peer) noexcept;  ///< Wakes it. Returns false if there is no memory for that; nudge_again() then does it.

    Engine& engine_;
    node::NodeMemory* memory_ = nullptr;
    node::Inbox* mail_ = nullptr;
    std::vector<Operation*> users_;  ///< Operations that watch node memory, the oldest first.
    std::size_t next_look_ = 0;
    bool owes_nudges_ = false;
};

}  // namespace rollcall::runtime
