#include "transports/ucx/receiver.hpp"

#include <cstring>

#include "transports/ucx/requests.hpp"
#include "transports/ucx/status.hpp"

namespace rollcall::transport::ucx {

void Receiver::listen(ucp_worker_h worker) {
    handle(worker, kMessageId, &Receiver::on_message);
    handle(worker, kInlineId, &Receiver::on_inline);
    handle(worker, kPutId, &Receiver::on_put);
    handle(worker, kHelloId, &Receiver::on_hello);
}

void Receiver::handle(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t callback) {
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = callback;
    handler.arg = this;
    check("setting the message handler", ucp_worker_set_am_recv_handler(worker, &handler));
}

ucs_status_t Receiver::on_message(void* self, const void* header, std::size_t header_length, void* data, std::size_t length,
                                  const ucp_am_recv_param_t* parameters) {
    Sink& sink = *static_cast<Receiver*>(self)->sink_;
    if (header_length == 0) return UCS_OK;  // Malformed.
    const std::span header_bytes(static_cast<const std::byte*>(header), header_length - 1);
    if (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        const auto form = static_cast<Payload>(static_cast<const std::byte*>(header)[header_length - 1]);
        const std::uint64_t size = form == Payload::verdict && length ? length - 1 : length;
        sink.on_offer(header_bytes, Offer{.handle = data, .size = size, .form = static_cast<std::uint8_t>(form)});
        return UCS_INPROGRESS;
    }
    sink.on_message(header_bytes, {data, length});
    return UCS_OK;
}

ucs_status_t Receiver::on_inline(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*) {
    const auto* bytes = static_cast<const std::byte*>(data);
    const std::size_t header_length = length ? std::to_integer<std::size_t>(bytes[0]) : 0;
    if (header_length + 1 > length) return UCS_OK;  // Malformed.
    static_cast<Receiver*>(self)->sink_->on_message({bytes + 1, header_length}, {bytes + 1 + header_length, length - 1 - header_length});
    return UCS_OK;
}

ucs_status_t Receiver::on_put(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*) {
    static_cast<Receiver*>(self)->board_.write(data, length);
    return UCS_OK;
}

ucs_status_t Receiver::on_hello(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*) {
    int rank;
    if (length != sizeof rank) return UCS_OK;  // Malformed.
    std::memcpy(&rank, data, sizeof rank);
    static_cast<Receiver*>(self)->greeters_.push_back(rank);
    return UCS_OK;
}

}  // namespace rollcall::transport::ucx
