/// \file
/// Endpoints that UCX is closing.
#pragma once

#include <vector>

#include <ucp/api/ucp.h>

namespace rollcall::transport::ucx {

class Closing {
  public:
    /// Begins to close an endpoint. `by_force`: without asking the other side, which is gone.
    void begin(ucp_ep_h endpoint, bool by_force) {
        ucp_request_param_t parameters{};
        if (by_force) {
            parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
            parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
        }
        // If UCX returns an error, it has closed the endpoint all the same.
        const ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint, &parameters);
        if (UCS_PTR_IS_PTR(request)) requests_.push_back(request);
    }
    /// Forgets those that are closed.
    void collect() {
        std::erase_if(requests_, [](void* request) {
            if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
            ucp_request_free(request);
            return true;
        });
    }
    bool empty() const noexcept { return requests_.empty(); }

  private:
    std::vector<void*> requests_;
};

}  // namespace rollcall::transport::ucx
