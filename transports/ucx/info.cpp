#include "transports/ucx/info.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

namespace rollcall::transport {
namespace {

/// Says why ucx_transport.cpp does not use a transport. The user's own UCX_TLS overrides these choices.
std::string why_unused(std::string_view transport) {
    if (std::getenv("UCX_TLS")) return "";
    if (transport == "sysv") return "its segments can outlive a killed process";
    if (transport == "cma") return "UCX does not use it where it must report the failure of a peer";
    return "";
}

/// Appends the devices of one memory domain. A domain that cannot be opened (no permission, no device) has none.
void append_devices(uct_component_h component, const char* domain_name, std::vector<TransportDevice>& devices) {
    uct_md_config_t* raw_config = nullptr;
    if (uct_md_config_read(component, nullptr, nullptr, &raw_config) != UCS_OK) return;
    const std::unique_ptr<uct_md_config_t, decltype(&uct_config_release)> config(raw_config, uct_config_release);
    uct_md_h raw_domain = nullptr;
    if (uct_md_open(component, domain_name, config.get(), &raw_domain) != UCS_OK) return;
    const std::unique_ptr<uct_md, decltype(&uct_md_close)> domain(raw_domain, uct_md_close);
    uct_tl_resource_desc_t* raw_resources = nullptr;
    unsigned count = 0;
    if (uct_md_query_tl_resources(domain.get(), &raw_resources, &count) != UCS_OK) return;
    const std::unique_ptr<uct_tl_resource_desc_t, decltype(&uct_release_tl_resource_list)> resources(raw_resources,
                                                                                                     uct_release_tl_resource_list);
    for (const auto& resource : std::span(resources.get(), count)) {
        devices.push_back({.transport = resource.tl_name,
                           .device = resource.dev_name,
                           .network = resource.dev_type == UCT_DEVICE_TYPE_NET,
                           .unused = why_unused(resource.tl_name)});
    }
}

void append_component(uct_component_h component, std::vector<TransportDevice>& devices) {
    // UCX must be asked twice: first for the number of domains, then for their names, which it writes into an array of that size.
    uct_component_attr_t attributes{};
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    if (uct_component_query(component, &attributes) != UCS_OK) return;
    std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attributes.md_resources = domains.data();
    if (domains.empty() || uct_component_query(component, &attributes) != UCS_OK) return;
    for (const auto& domain : domains) append_devices(component, domain.md_name, devices);
}

}  // namespace

TransportInfo ucx_info() {
    TransportInfo info;
    info.name = "ucx";
    info.version = ucp_get_version_string();

    uct_component_h* raw_components = nullptr;
    unsigned count = 0;
    if (const auto status = uct_query_components(&raw_components, &count); status != UCS_OK) {
        info.note = fmt::format("its components cannot be listed: {}", ucs_status_string(status));
        return info;
    }
    const std::unique_ptr<uct_component_h, decltype(&uct_release_component_list)> components(raw_components, uct_release_component_list);
    for (const auto component : std::span(components.get(), count)) append_component(component, info.devices);
    info.one_host = !info.devices.empty();
    info.several_hosts = std::ranges::any_of(info.devices, &TransportDevice::network);
    if (!info.one_host) info.note = "it finds no device on this host";
    // UCX's own variables restrict which of these devices a job may use.
    for (const char* variable : {"UCX_TLS", "UCX_NET_DEVICES", "UCX_SHM_DEVICES"}) {
        const char* value = std::getenv(variable);
        if (value != nullptr) info.note += fmt::format("{}{}={} is set", info.note.empty() ? "" : "; ", variable, value);
    }
    return info;
}

}  // namespace rollcall::transport
