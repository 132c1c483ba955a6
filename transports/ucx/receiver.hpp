/// \file
/// Messages that come in, as UCX hands them over.
#pragma once

#include <ucp/api/ucp.h>

#include "transports/transport.hpp"
#include "transports/ucx/board.hpp"

namespace rollcall::transport::ucx {

/// Active messages by number. The first byte of kInlineId is the length of the header, which stands behind it, before the payload: messages
/// whose header and payload together are short travel so, without a header of UCX's own, the shortest way that UCX has. kPutId is a put, as
/// a message: where it lands on the board, then its bytes.
inline constexpr unsigned kMessageId = 0;
inline constexpr unsigned kInlineId = 1;
inline constexpr unsigned kPutId = 2;

/// Hands messages to the sink, inside ucp_worker_progress(). Must outlive the worker, and stay where it is.
class Receiver {
  public:
    explicit Receiver(Board& board) : board_(board) {}
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    void attach(Sink& sink) noexcept { sink_ = &sink; }
    /// From now on; there must be a sink before the first progress. Error{transport} when UCX refuses.
    void listen(ucp_worker_h worker);

  private:
    void handle(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t callback);
    static ucs_status_t on_message(void* self, const void* header, std::size_t header_length, void* data, std::size_t length,
                                   const ucp_am_recv_param_t* parameters);
    static ucs_status_t on_inline(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*);
    static ucs_status_t on_put(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*);

    Board& board_;
    Sink* sink_ = nullptr;
};

}  // namespace rollcall::transport::ucx
