/// \file
/// Passes messages that come in from UCX on to the sink.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/transport.hpp"
#include "transports/ucx/board.hpp"

namespace rollcall::transport::ucx {

/// The numbers of the active messages. kInlineId is for messages whose header and payload together are short. Its first byte is the length
/// of the header; the header and the payload follow. It has no header of UCX's own, which is the fastest way that UCX offers. kPutId is a
/// put sent as a message: the offset on the board, followed by the bytes. kHelloId is the first message over a connection: the rank that
/// has made it. kProbeId is a message of this process to itself (hearing.hpp).
inline constexpr unsigned kMessageId = 0;
inline constexpr unsigned kInlineId = 1;
inline constexpr unsigned kPutId = 2;
inline constexpr unsigned kHelloId = 3;
inline constexpr unsigned kProbeId = 4;

/// Passes messages to the sink, inside ucp_worker_progress(). Must not be moved. Once a Receiver is destroyed, its worker must make no
/// progress.
class Receiver {
  public:
    explicit Receiver(Board& board) : board_(board) {}
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    void attach(Sink& sink) noexcept { sink_ = &sink; }
    /// Begins to listen. There must be a sink before the first progress. Throws Error{transport} if UCX refuses.
    void listen(ucp_worker_h worker);
    /// Whether ranks have said hello that take_greeters() has not returned.
    bool has_greeters() const noexcept { return !greeters_.empty(); }
    std::vector<int> take_greeters() noexcept { return std::exchange(greeters_, {}); }

  private:
    void handle(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t callback);
    static ucs_status_t on_message(void* self, const void* header, std::size_t header_length, void* data, std::size_t length,
                                   const ucp_am_recv_param_t* parameters);
    static ucs_status_t on_inline(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*);
    static ucs_status_t on_put(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*);
    static ucs_status_t on_hello(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*);

    Board& board_;
    Sink* sink_ = nullptr;
    std::vector<int> greeters_;
};

}  // namespace rollcall::transport::ucx
