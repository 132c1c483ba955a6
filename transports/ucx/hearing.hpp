/// \file
/// Whether this process still receives messages through shared memory after a neighbour has died.
///
/// UCX puts messages into a queue in the memory of the receiver. A sender reserves a slot of the queue and then fills it. If the sender
/// dies in between, the receiver waits for this slot for ever, and gets none of the messages behind it, whoever has sent them. UCX notices
/// nothing. Two observations tell the difference:
///
/// - UCX lets a worker sleep only while its queue is empty and no slot is reserved. If it does so after the death, the process hears. (This
///   needs a connection to another neighbour. Without one, UCX does not look at the queue.)
/// - A message that this process sends to itself through the queue arrives, unless there is such a slot. A second worker sends it, because
///   a worker reaches itself in another way.
#pragma once

#include <functional>

#include <ucp/api/ucp.h>

#include "foundation/clock.hpp"

namespace rollcall::transport::ucx {

/// Owner-only, and must not be moved. Once a Hearing is destroyed, the worker that it was asked about must make no progress.
class Hearing {
  public:
    Hearing() = default;
    Hearing(const Hearing&) = delete;
    Hearing& operator=(const Hearing&) = delete;

    /// A neighbour has died, or has left.
    void doubt(int peer) noexcept;
    /// Whether look() has something to do.
    bool in_doubt() const noexcept { return peer_ >= 0 || prober_; }
    /// Call it when UCX has let the worker sleep.
    void trust() noexcept { peer_ = -1; }
    struct Look {
        int dead = -1;         ///< The neighbour that died, if the process receives nothing any more: once. Otherwise -1.
        bool refused = false;  ///< UCX has been asked to let the worker sleep, and has refused: the caller should make progress.
    };
    /// Call it often while in_doubt(), and make progress in between. `has_neighbour`: there is a connection to another neighbour. What it
    /// returns is certain, except where another sender has been stopped between the two steps for two seconds.
    Look look(ucp_context_h context, ucp_worker_h worker, const std::function<bool()>& has_neighbour);
    /// Whether there is a second worker. It must be closed before the context is destroyed.
    bool is_probing() const noexcept { return prober_ != nullptr; }
    /// Destroys the second worker, if there is one.
    void close() noexcept;

  private:
    void begin_probe(ucp_context_h context, ucp_worker_h worker);
    ucs_status_t send_probe();
    static ucs_status_t on_probe(void* self, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*);

    int peer_ = -1;
    Nanoseconds next_ = 0;   ///< When to look again.
    Nanoseconds since_ = 0;  ///< Of the first look, or of the probe.
    unsigned looks_ = 0;     ///< Since then.
    ucp_worker_h prober_ = nullptr;
    ucp_ep_h endpoint_ = nullptr;  ///< Of the prober, to the worker.
    bool heard_ = false;           ///< The probe has arrived.
    bool again_ = false;           ///< Another neighbour has died since it was sent.
    bool has_warned_ = false;
};

}  // namespace rollcall::transport::ucx
