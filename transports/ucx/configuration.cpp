#include "transports/ucx/configuration.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "foundation/kernel.hpp"
#include "transports/ucx/status.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace rollcall::transport {

std::string ucx_devices(const TransportOptions& options) {
    if (!options.interfaces_named && std::getenv("UCX_NET_DEVICES")) return {};
    std::string devices;
    for (const Interface& interface : options.interfaces) devices += (devices.empty() ? "" : ",") + interface.name;
    return devices;
}

namespace ucx {
bool is_at_least(unsigned minor) {
    unsigned major = 0, its_minor = 0, release = 0;
    ucp_get_version(&major, &its_minor, &release);
    return major > 1 || its_minor >= minor;
}

namespace {

struct ConfigurationRelease {
    void operator()(ucp_config_t* configuration) const { ucp_config_release(configuration); }
};
using Configuration = std::unique_ptr<ucp_config_t, ConfigurationRelease>;

void set(ucp_config_t* configuration, const char* name, const char* value) {
    check(fmt::format("setting {}={}", name, value).c_str(), ucp_config_modify(configuration, name, value));
}

void set_unless_given(ucp_config_t* configuration, const char* name, const char* value) {
    if (!std::getenv(fmt::format("UCX_{}", name).c_str())) set(configuration, name, value);
}

// A setting of a transport. Before version 1.17, UCX wants its name without the transport. Later ones ignore that name.
void set_unless_given(ucp_config_t* configuration, const std::string& transport, const std::string& name, const char* value) {
    if (std::getenv(("UCX_" + transport + name).c_str())) return;
    set(configuration, ((is_at_least(17) ? transport : "") + name).c_str(), value);
}

// Whether UCX_TLS lets UCX use a transport that has one of these names. Settings are made only if something uses them, because UCX warns
// about unused settings.
bool is_used(std::initializer_list<std::string_view> names) {
    const char* tls = std::getenv("UCX_TLS");
    if (!tls) return true;
    const std::string_view text(tls);
    const bool is_named = std::any_of(names.begin(), names.end(), [&](auto name) { return text.find(name) != std::string_view::npos; });
    return text.starts_with('^') ? !is_named : is_named || text.find("all") != std::string_view::npos;
}

// Whether the user has chosen how ranks of one host communicate. Then nothing is left out. With UCX_POSIX_USE_PROC_LINK=n memory has names
// in /dev/shm, which killed ranks leave behind.
bool is_chosen() { return std::getenv("UCX_TLS") || std::getenv("UCX_POSIX_USE_PROC_LINK"); }

bool is_left_out() { return !is_chosen() && ::prctl(PR_GET_DUMPABLE) != 1; }

// Whether RDMA may lead to other hosts.
bool may_use_rdma(const TransportOptions& options) {
    if (options.local_size == options.size) return false;
    return options.interfaces.empty() || std::ranges::any_of(options.interfaces, &Interface::rdma);
}

Configuration read_configuration(const TransportOptions& options) {
    ucp_config_t* raw = nullptr;
    check("reading its configuration", ucp_config_read(nullptr, nullptr, &raw));
    Configuration configuration(raw);
    // With error handling by peer, UCX uses shared memory only if it is told that errors need not be noticed there. The starter of the
    // processes notices deaths on the same host. Set only if it is used, because UCX warns about unused settings.
    if (uses_shared_memory() && !std::getenv("UCX_POSIX_ERROR_HANDLING")) set_unless_given(raw, "MM_ERROR_HANDLING", "y");
    // UCX allocates 512 receive buffers of 8 KiB at a time and fills them with zeros. Without this setting each rank would have 4.2 MiB of
    // shared memory before its first message.
    if (uses_shared_memory() && !std::getenv("UCX_POSIX_RX_BUFS_GROW"))
        set_unless_given(raw, "MM_RX_BUFS_GROW", std::to_string(kReceiveBuffers).c_str());
    // Versions from 1.16 on have queues of 256 places, for which each rank would need four times as much shared memory.
    if (uses_shared_memory() && !std::getenv("UCX_POSIX_FIFO_SIZE"))
        set_unless_given(raw, "MM_FIFO_SIZE", std::to_string(kPlacesOfQueue).c_str());
    // UCX 1.14 and later use no shared memory where less than 16 MiB of it is free. A rank of a job of up to some thousand ranks needs a
    // small part of that, and Rollcall checks that what it needs is there (shared_memory.hpp).
    if (uses_shared_memory() && is_at_least(14)) set_unless_given(raw, "POSIX_", "SHM_MIN_SIZE", "0");
    // System V segments can outlive a killed process. POSIX segments are unlinked as soon as they are made.
    set_unless_given(raw, "TLS", is_left_out() ? "^sm" : "^sysv");
    // By default UCX sends pieces of 8 KiB over TCP. Each one costs a system call, so that a large message over the loopback takes four to
    // five times as long. A connection has buffers only while it transfers something.
    if (is_used({"tcp"}))
        for (const char* const name : {"TX_SEG_SIZE", "RX_SEG_SIZE"}) set_unless_given(raw, "TCP_", name, "256k");
    // UCX asks the process at the other end of a new connection, and all of them every 20 s, whether it lives. The starter tells of deaths
    // sooner. And where the process is gone, its kernel throws away what it has still to send over TCP when such a question comes: the last
    // message is lost. Only hosts that are reached by RDMA are left to UCX, because nobody else can ask those without an IP address.
    if (!may_use_rdma(options)) set_unless_given(raw, "KEEPALIVE_INTERVAL", "inf");
    if (const std::string devices = ucx_devices(options); !devices.empty()) set(raw, "NET_DEVICES", devices.c_str());
    return configuration;
}

}  // namespace

bool uses_shared_memory() { return !is_left_out() && (is_used({"posix", "sm", "shm", "mm"}) || is_used({"sysv", "sm", "shm", "mm"})); }

bool needs_network_address() { return !is_chosen() && namespace_number("user") != kFirstUserNamespace; }

ucp_context_h make_context(const TransportOptions& options) {
    const Configuration configuration = read_configuration(options);
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    parameters.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    parameters.estimated_num_eps = static_cast<std::size_t>(options.size);
    ucp_context_h context = nullptr;
    check("initialisation", ucp_init(&parameters, configuration.get(), &context));
    return context;
}

std::string describe(const TransportOptions& options) {
    const char* tls = std::getenv("UCX_TLS");
    const char* given = std::getenv("UCX_NET_DEVICES");
    const std::string devices = ucx_devices(options);
    return fmt::format("UCX {}, transports {}, network devices {}", ucp_get_version_string(),
                       tls             ? tls
                       : is_left_out() ? "all but shared memory (this process is not dumpable: other ones may not open its memory)"
                                       : "all but sysv",
                       !devices.empty() ? devices
                       : given          ? given
                                        : "all");
}

}  // namespace ucx
}  // namespace rollcall::transport
