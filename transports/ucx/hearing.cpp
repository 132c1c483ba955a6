#include "transports/ucx/hearing.hpp"

#include <cstddef>
#include <span>
#include <utility>

#include "foundation/log.hpp"
#include "transports/ucx/closing.hpp"
#include "transports/ucx/connecting.hpp"
#include "transports/ucx/receiver.hpp"

namespace rollcall::transport::ucx {
namespace {

constexpr Nanoseconds kBetweenLooks = 10 * kMillisecond;
// A queue may be in use at each look because others send a lot. So a probe is made only if it was so for this time.
constexpr Nanoseconds kProbesAfter = 500 * kMillisecond;
// Another sender may have lost its core between the two steps, so it has this time.
constexpr Nanoseconds kDeafAfter = 2000 * kMillisecond;
// The process itself may not have run for long. So many looks, each with progress before it, must have found the same.
constexpr unsigned kLeastLooks = 40;
constexpr int kMostProgress = 1000;

}  // namespace

void Hearing::doubt(int peer) noexcept {
    if (peer_ < 0) peer_ = peer;  // ranks that die later have mostly left because of the first one
    next_ = since_ = 0;
    looks_ = 0;
    // A probe that is under way may come before what this neighbour has reserved. The worker stays: what it has sent may not be read yet.
    again_ = prober_ != nullptr;
}

// A message may still wait for a place in the queue. Then a UCX with assertions ends the process when the worker is destroyed, unless the
// connection was closed by force.
void Hearing::close() noexcept {
    if (!prober_) return;
    Closing closing;
    if (endpoint_) closing.begin(std::exchange(endpoint_, nullptr), true);
    for (int i = 0; i < kMostProgress && !closing.empty(); ++i) {
        ucp_worker_progress(prober_);
        closing.collect();
    }
    ucp_worker_destroy(std::exchange(prober_, nullptr));
    heard_ = again_ = false;
}

Hearing::Look Hearing::look(ucp_context_h context, ucp_worker_h worker, const std::function<bool()>& has_neighbour) {
    if (peer_ < 0) {  // trust(), or the process is deaf
        close();
        return {};
    }
    const Nanoseconds now = monotonic_now();
    if (now < next_) return {};
    next_ = now + kBetweenLooks;
    bool refused = false;
    if (prober_) {
        ucp_worker_progress(prober_);
    } else {
        refused = ucp_worker_arm(worker) != UCS_OK;
        if (!refused && has_neighbour()) trust();
    }
    if (std::exchange(heard_, false)) {
        since_ = now;
        looks_ = 0;
        if (!std::exchange(again_, false) || send_probe() != UCS_OK) {
            trust();
            close();
        }
    }
    if (peer_ < 0) return {};
    if (since_ == 0) since_ = now;
    if (++looks_ < kLeastLooks || now - since_ < (prober_ ? kDeafAfter : kProbesAfter)) return {.refused = refused};
    if (prober_) return {.dead = std::exchange(peer_, -1)};
    begin_probe(context, worker);  // If it cannot, it is tried again after the same time.
    since_ = now;
    looks_ = 0;
    return {.refused = refused};
}

void Hearing::begin_probe(ucp_context_h context, ucp_worker_h worker) {
    const auto give_up = [&](const char* what, ucs_status_t status) {
        if (!std::exchange(has_warned_, true))
            log_message(LogLevel::warn,
                        "it is not known whether this rank still receives messages after the death of rank {}: {} failed: {}", peer_, what,
                        ucs_status_string(status));
        close();
    };
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kProbeId;
    handler.cb = &Hearing::on_probe;
    handler.arg = this;
    ucs_status_t status = ucp_worker_set_am_recv_handler(worker, &handler);
    if (status != UCS_OK) return give_up("setting its message handler", status);
    ucp_worker_params_t parameters{};
    parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    status = ucp_worker_create(context, &parameters, &prober_);
    if (status != UCS_OK) {
        prober_ = nullptr;
        return give_up("creating a worker", status);
    }
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
    status = ucp_worker_query(worker, &attributes);
    if (status != UCS_OK) return give_up("getting its address", status);
    const auto on_error = [](void*, ucp_ep_h, ucs_status_t) {};
    status = make_endpoint(prober_, std::as_bytes(std::span(reinterpret_cast<const char*>(attributes.address), attributes.address_length)),
                           on_error, nullptr, endpoint_);
    ucp_worker_release_address(worker, attributes.address);
    if (status != UCS_OK) return give_up("connecting to itself", status);
    status = send_probe();
    if (status != UCS_OK) give_up("sending to itself", status);
}

ucs_status_t Hearing::send_probe() {
    static constexpr std::byte kNothing{};
    const ucp_request_param_t plain{};
    const ucs_status_ptr_t request = ucp_am_send_nbx(endpoint_, kProbeId, nullptr, 0, &kNothing, sizeof kNothing, &plain);
    if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    return UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK;
}

ucs_status_t Hearing::on_probe(void* self, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
    static_cast<Hearing*>(self)->heard_ = true;
    return UCS_OK;
}

}  // namespace rollcall::transport::ucx
