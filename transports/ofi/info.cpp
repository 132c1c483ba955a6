#include "transports/ofi/info.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/fabric.h>
#include <rollcall/error.hpp>

#include "transports/ofi/library.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::transport {
namespace {

// Why a job does not use a provider although it works.
std::string why_unused(std::string_view provider, const std::string& named, std::string_view taken) {
    const auto chooses = [&] { return fmt::format(" (ROLLCALL_OFI_PROVIDER={} chooses it)", provider); };
    if (!named.empty()) return fmt::format("ROLLCALL_OFI_PROVIDER={} chooses another one", named);
    if (provider == ofi::kSharedMemory) return "";
    if (std::ranges::find(ofi::kBetweenHosts, provider) != std::end(ofi::kBetweenHosts))
        return taken.empty() ? "" : fmt::format("{} comes first{}", taken, chooses());
    if (provider.starts_with("net"))
        return "its event descriptor is always readable, so that a rank that sleeps must look every millisecond" + chooses();
    if (provider == "sockets") return "each message takes milliseconds" + chooses();
    if (provider.starts_with("udp")) return "it is made for tests of libfabric, and is slow where packets are lost" + chooses();
    return "not tried with Rollcall" + chooses();
}

// What a provider cannot do, in words. `with_reads`: what the same provider says if it is asked for RMA; null if it has none.
std::string what_it_lacks(const fi_info& info, const fi_info* with_reads) {
    std::vector<std::string_view> all;
    if (!ofi::has_descriptor(info)) all.push_back("an event descriptor to sleep on");
    if (!with_reads)
        all.push_back("RMA");
    else if (!ofi::reads_alone(*with_reads))
        all.push_back("RMA that needs no help of the other process");
    else if (!ofi::reads_end(*with_reads))
        all.push_back("RMA reads that end when the memory is taken back");
    if (with_reads && with_reads->domain_attr->cq_data_size == 0) all.push_back("remote completion data");
    return fmt::format("{}", fmt::join(all, ", "));
}

const fi_info* find_same(const fi_info* all, const fi_info& one) {
    const auto name_of = [](const fi_info& info) { return std::string_view(info.domain_attr->name ? info.domain_attr->name : ""); };
    for (const fi_info* each = all; each; each = each->next)
        if (std::string_view(each->fabric_attr->prov_name) == one.fabric_attr->prov_name && name_of(*each) == name_of(one)) return each;
    return nullptr;
}

bool is_same(const fi_info* one, std::string_view provider, std::string_view device) {
    if (!one || provider != one->fabric_attr->prov_name) return false;
    return provider == ofi::kSharedMemory || (one->domain_attr->name && device == one->domain_attr->name);
}

// The providers that a job would use, or the reason why there are none.
struct Chosen {
    explicit Chosen(const TransportOptions& options, std::string reason = {}) : failure(std::move(reason)) {
        if (!failure.empty()) return;
        try {
            providers = ofi::choose(options);
        } catch (const Error& error) {
            failure = error.what();
        }
    }
    bool uses(std::string_view provider, std::string_view device) const {
        return is_same(providers.shared_memory.get(), provider, device) || is_same(providers.network.get(), provider, device);
    }
    std::string network() const { return providers.network ? providers.network->fabric_attr->prov_name : ""; }
    std::string words() const {
        if (!failure.empty()) return "nothing: " + failure;
        if (!providers.network) return "shm";
        const char* const device = providers.network->domain_attr->name;
        return fmt::format("{}{} over {}", providers.shared_memory ? "shm within a host and " : "", network(), device ? device : "?");
    }
    ofi::Providers providers;
    std::string failure;
};

// What a provider lacks that this transport cannot do without.
std::string why_unusable(std::string_view provider, const fi_info* all) {
    bool found = false, datagrams = false, ordered = false;
    for (const fi_info* each = all; each; each = each->next) {
        if (provider != each->fabric_attr->prov_name) continue;
        found = true;
        if (each->ep_attr->type != FI_EP_RDM) continue;
        datagrams = true;
        ordered |= (each->tx_attr->msg_order & FI_ORDER_SAS) != 0;
    }
    if (!found) return "it finds no device on this host";
    if (!datagrams) return fmt::format("it has no reliable datagrams (FI_EP_RDM); {};ofi_rxm may add them", provider);
    return ordered ? "it does not accept what Rollcall asks for" : "it does not keep messages in order (FI_ORDER_SAS)";
}

// Adds the providers that libfabric knows, and that no job can use here.
void add_unusable(TransportInfo& info) {
    const ofi::Info names = ofi::ask_without_conditions(true), all = ofi::ask_without_conditions(false);
    const auto add = [&](const fi_info* list) {
        for (const fi_info* each = list; each; each = each->next) {
            const std::string provider = each->fabric_attr->prov_name;
            // The layers that other providers are used through (ofi_rxm) have no devices of their own.
            const bool is_layer = provider.starts_with("ofi_") || provider.find("hook") != std::string::npos;
            if (is_layer || std::ranges::find(info.devices, provider, &TransportDevice::transport) != info.devices.end()) continue;
            info.devices.push_back({.transport = provider,
                                    .device = "",
                                    .network = true,
                                    .unused = why_unusable(provider, all.get()),
                                    .one_host = false,
                                    .several_hosts = false});
        }
    };
    add(all.get());
    add(names.get());
}

}  // namespace

TransportInfo ofi_info(const Jobs& jobs) {
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
    const std::string& named = jobs.several_hosts.ofi_provider;
    const Chosen one_host(jobs.one_host), several_hosts(jobs.several_hosts, jobs.no_network);
    for (const fi_info* each = all.get(); each; each = each->next) {
        const std::string provider = each->fabric_attr->prov_name;
        const bool shared = provider == ofi::kSharedMemory;
        const std::string device = shared ? "memory" : each->domain_attr->name ? each->domain_attr->name : "";
        const auto known = std::ranges::find_if(
            info.devices, [&](const TransportDevice& one) { return one.transport == provider && one.device == device; });
        if (known != info.devices.end()) continue;
        const bool one = one_host.uses(provider, device), several = several_hosts.uses(provider, device);
        const bool taken = provider == one_host.network() || provider == several_hosts.network();
        info.devices.push_back({.transport = provider,
                                .device = device,
                                .network = !shared,
                                .unused = one || several || taken ? "" : why_unused(provider, named, several_hosts.network()),
                                .lacks = what_it_lacks(*each, find_same(with_reads.get(), *each)),
                                .one_host = one,
                                .several_hosts = several});
    }
    info.one_host = one_host.failure.empty();
    info.several_hosts = several_hosts.failure.empty();
    add_unusable(info);
    const std::string why = named.empty()
                                ? fmt::format("shm where it is, and the first that is here of {}", fmt::join(ofi::kBetweenHosts, ", "))
                                : "as ROLLCALL_OFI_PROVIDER=" + named + " says";
    info.note = fmt::format("a job on one host takes {}; on several hosts {} ({})", one_host.words(), several_hosts.words(), why);
    return info;
}

}  // namespace rollcall::transport
