#include "transports/ofi/info.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/fabric.h>
#include <rollcall/error.hpp>

#include "transports/ofi/library.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::transport {
namespace {

// The providers that this transport does not choose by itself, and the reasons.
std::string why_unused(std::string_view provider) {
    if (provider == ofi::kSharedMemory) return "";
    for (const std::string_view each : ofi::kBetweenHosts)
        if (provider == each) return "";
    if (provider.starts_with("net"))
        return "its event descriptor is always readable, so that a rank that sleeps must look every millisecond";
    if (provider == "sockets") return "each message takes milliseconds";
    if (provider.starts_with("udp")) return "it is made for tests of libfabric, and is slow where packets are lost";
    return "not tried with Rollcall";
}

// What a provider cannot do, in words. `with_reads`: what the same provider says if it is asked for RMA; null if it has none.
std::string what_it_lacks(const fi_info& info, const fi_info* with_reads) {
    std::vector<std::string_view> all;
    if (!ofi::has_descriptor(info)) all.push_back("an event descriptor to sleep on");
    if (!with_reads)
        all.push_back("RMA");
    else if (!ofi::reads_alone(*with_reads))
        all.push_back("RMA that needs no help of the other process");
    if (with_reads && with_reads->domain_attr->cq_data_size == 0) all.push_back("remote completion data");
    return fmt::format("{}", fmt::join(all, ", "));
}

const fi_info* find_same(const fi_info* all, const fi_info& one) {
    const auto name_of = [](const fi_info& info) { return std::string_view(info.domain_attr->name ? info.domain_attr->name : ""); };
    for (const fi_info* each = all; each; each = each->next)
        if (std::string_view(each->fabric_attr->prov_name) == one.fabric_attr->prov_name && name_of(*each) == name_of(one)) return each;
    return nullptr;
}

}  // namespace

TransportInfo ofi_info() {
    TransportInfo info;
    info.name = "ofi";
    try {
        ofi::library();
    } catch (const Error& error) {
        info.note = error.what();
        return info;
    }
    const std::uint32_t version = ofi::library().version();
    info.version = fmt::format("{}.{}", FI_MAJOR(version), FI_MINOR(version));
    const ofi::Info all = ofi::ask(""), with_reads = ofi::ask("", true);
    std::string between;
    for (const fi_info* each = all.get(); each; each = each->next) {
        const std::string provider = each->fabric_attr->prov_name;
        const bool shared = provider == ofi::kSharedMemory;
        const std::string device = shared ? "memory" : each->domain_attr->name ? each->domain_attr->name : "";
        const auto known = std::ranges::find_if(
            info.devices, [&](const TransportDevice& one) { return one.transport == provider && one.device == device; });
        if (known != info.devices.end()) continue;
        std::string unused = why_unused(provider);
        if (!unused.empty()) unused += fmt::format(" (ROLLCALL_OFI_PROVIDER={} chooses it)", provider);
        info.devices.push_back({.transport = provider,
                                .device = device,
                                .network = !shared,
                                .unused = unused,
                                .lacks = what_it_lacks(*each, find_same(with_reads.get(), *each))});
    }
    info.available = std::ranges::any_of(info.devices, [](const TransportDevice& one) { return one.unused.empty(); });
    if (info.devices.empty()) {
        info.note = "it finds no provider with reliable datagrams (FI_EP_RDM) on this host";
        return info;
    }
    for (const std::string_view each : ofi::kBetweenHosts) {
        const bool there = std::ranges::any_of(info.devices, [&](const TransportDevice& one) { return one.transport == each; });
        if (there && between.empty()) between = each;
    }
    const bool has_memory = std::ranges::any_of(info.devices, [](const TransportDevice& one) { return !one.network; });
    info.note = fmt::format("{} within a host; {} between hosts, the first that is here of {}", has_memory ? "shm" : "as between hosts",
                            between.empty() ? "nothing" : between, fmt::join(ofi::kBetweenHosts, ", "));
    return info;
}

}  // namespace rollcall::transport
