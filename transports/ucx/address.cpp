#include "transports/ucx/address.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "foundation/kernel.hpp"
#include "transports/address_parts.hpp"
#include "transports/ucx/status.hpp"

namespace rollcall::transport::ucx {

void append_worker(std::vector<std::byte>& address, ucp_worker_h worker, bool only_network) {
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
    attributes.address_flags = only_network ? UCP_WORKER_ADDRESS_FLAG_NET_ONLY : 0;
    check("getting its address", ucp_worker_query(worker, &attributes));
    const auto release = [&](ucp_address_t* its) { ucp_worker_release_address(worker, its); };
    const std::unique_ptr<ucp_address_t, decltype(release)> its(attributes.address, release);
    append(address, attributes.address, attributes.address_length);
}

namespace {

bool are_together(const Whereabouts& here, const Whereabouts& there) {
    return std::memcmp(here.boot, there.boot, sizeof here.boot) == 0 && here.process_namespace == there.process_namespace &&
           here.user_namespace == there.user_namespace;
}

}  // namespace

Whereabouts whereabouts(bool shares_memory) {
    Whereabouts here;
    boot_identity().copy(here.boot, sizeof here.boot);
    here.process_namespace = namespace_number("pid");
    here.process = ::getpid();
    here.shares_memory = shares_memory ? 1 : 0;
    here.user_namespace = namespace_number("user");
    return here;
}

Whereabouts whereabouts_in(std::span<const std::byte> address) {
    Whereabouts there;
    if (const auto bytes = part(address, kWhereaboutsPart); bytes.size() == sizeof there) std::memcpy(&there, bytes.data(), sizeof there);
    return there;
}

bool is_neighbour(const Whereabouts& here, const Whereabouts& there) { return are_together(here, there) && here.process != there.process; }

// With settings of the user, UCX may share memory between namespaces, too. Such a peer then counts as one that is reached over a network.
bool share_memory(const Whereabouts& here, const Whereabouts& there) {
    return here.shares_memory && there.shares_memory && are_together(here, there);
}

std::span<const std::byte> worker_address_in(std::span<const std::byte> address, const Whereabouts& here) {
    if (const auto network = part(address, kNetworkPart); !network.empty() && whereabouts_in(address).user_namespace != here.user_namespace)
        return network;
    return part(address, kWorkerPart);
}

bool is_gone(const Whereabouts& here, const Whereabouts& there) {
    if (!is_neighbour(here, there)) return false;
    char target[1];
    return ::readlink(fmt::format("/proc/{}/exe", there.process).c_str(), target, sizeof target) < 0 && errno == ENOENT;
}

}  // namespace rollcall::transport::ucx
