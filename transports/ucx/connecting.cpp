#include "transports/ucx/connecting.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "foundation/descriptor.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::transport::ucx {

ucs_status_t make_endpoint(ucp_worker_h worker, std::span<const std::byte> address, ucp_err_handler_cb_t on_error, void* context,
                           ucp_ep_h& endpoint) {
    if (address.empty()) return UCS_ERR_INVALID_ADDR;
    ucp_ep_params_t parameters{};
    parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                            UCP_EP_PARAM_FIELD_USER_DATA;
    parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
    parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    parameters.err_handler.cb = on_error;
    parameters.err_handler.arg = context;
    parameters.user_data = context;
    const ucs_status_t status = ucp_ep_create(worker, &parameters, &endpoint);
    if (status != UCS_OK) endpoint = nullptr;
    return status;
}

std::string why_nothing_opens(std::uint64_t length) {
    const int before = errno;
    std::string why;
    const Descriptor file(::open("/proc/self/ns", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!file && (errno == EMFILE || errno == ENFILE))
        why = fmt::format("this rank cannot open another file: {}; raise the limit of open files (ulimit -n)", error_text(errno));
    void* const memory = ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        ::munmap(memory, length);
    else if (why.empty())
        why = fmt::format("this rank cannot map {} bytes: {}; raise the limit of memory (ulimit -v)", length, error_text(errno));
    errno = before;
    return why;
}

std::string bracketed(const std::string& why) { return why.empty() ? "" : fmt::format(" ({})", why); }

std::string why_unreachable(const Whereabouts& here, const Whereabouts& there, std::uint64_t length) {
    if (const std::string why = why_nothing_opens(length); !why.empty()) return bracketed(why);
    const bool is_apart = here.user_namespace != there.user_namespace;
    const Descriptor its_files(is_neighbour(here, there) ? ::open(fmt::format("/proc/{}/fd", there.process).c_str(), O_RDONLY | O_CLOEXEC)
                                                         : -1);
    const bool is_refused = is_neighbour(here, there) && !its_files && (errno == EACCES || errno == EPERM);
    if (!is_refused && !is_apart) return "";
    return fmt::format(" ({}; UCX_TLS=tcp does without shared memory)",
                       is_apart ? "it is in another user namespace than this rank"
                                : "the kernel does not let this rank look into that process, for example because it is not dumpable");
}

}  // namespace rollcall::transport::ucx
