#include "transports/ofi/providers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "transports/ofi/shared_memory.hpp"

namespace rollcall::transport::ofi {
namespace {

constexpr std::size_t kPlaces = 256;

bool is_loopback(const fi_info& info) { return info.domain_attr->name && std::string_view(info.domain_attr->name) == "lo"; }

// Returns the first provider that is on one of the interfaces, in the order of the interfaces. Without interfaces it prefers the loopback
// for a job on one host, and a provider that is not the loopback for a job on several hosts. Among equals, IPv4 comes before IPv6, because
// not every host reaches the link-local addresses of IPv6. Among the remaining ones, the first in libfabric's list is returned.
Info on_interface(Info all, const TransportOptions& options) {
    const bool one_host = options.size == options.local_size;
    const auto rank_of = [&](const fi_info& info) -> int {
        int rank = info.addr_format == FI_SOCKADDR_IN6 ? 1 : 0;
        if (!options.interfaces.empty()) {
            const auto named = std::ranges::find_if(options.interfaces, [&](const Interface& interface) {
                const std::string_view name = interface.name, domain = info.domain_attr->name ? info.domain_attr->name : "";
                return domain == name.substr(0, name.find(':'));  // "mlx5_0:1" is a port of mlx5_0
            });
            rank += static_cast<int>(named - options.interfaces.begin()) * 2;
        } else if (is_loopback(info) != one_host && info.domain_attr->name) {
            rank += 2;
        }
        return rank;
    };
    const int unlisted = static_cast<int>(options.interfaces.size()) * 2;
    const fi_info* best = nullptr;
    int best_rank = 0;
    for (const fi_info* each = all.get(); each; each = each->next) {
        const int rank = rank_of(*each);
        if (best && rank >= best_rank) continue;
        best = each;
        best_rank = rank;
    }
    if (best && !options.interfaces.empty() && best_rank >= unlisted) return nullptr;
    return best ? Info(library().dupinfo(best)) : nullptr;
}

std::string names_of(const TransportOptions& options) {
    std::string names;
    for (const Interface& interface : options.interfaces) names += (names.empty() ? "" : ", ") + interface.name;
    return names;
}

Info network(const TransportOptions& options, std::string_view provider) {
    for (const bool reads : {true, false}) {
        if (reads && options.ofi_reads == "no") continue;
        Info all = ask(provider, reads);
        if (reads && all && !reads_end(*all)) continue;
        Info chosen = all ? on_interface(std::move(all), options) : nullptr;
        if (chosen && (!reads || options.ofi_reads == "always" || reads_alone(*chosen))) return chosen;
    }
    return nullptr;
}

// The providers of networks in the order in which they are tried. "verbs", and in libfabric 1.17 "tcp", have reliable datagrams only
// through rxm. The tcp of later versions has them itself, and is faster. It comes last where reads are wanted (reads_end()).
std::vector<std::string> wanted(const TransportOptions& options) {
    const std::string& named = options.ofi_provider;
    std::vector<std::string> names(std::begin(kBetweenHosts), std::end(kBetweenHosts));
    if (!named.empty()) names = {named, named + ";ofi_rxm"};
    if (options.ofi_reads == "always") std::ranges::stable_partition(names, [](const std::string& name) { return name != "tcp"; });
    return names;
}

}  // namespace

bool reads_alone(const fi_info& info) {
    return info.domain_attr->data_progress == FI_PROGRESS_AUTO || std::string_view(info.fabric_attr->prov_name).starts_with("verbs");
}

bool reads_end(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    return provider != "tcp" && provider != "net";
}

bool has_descriptor(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    return provider != kSharedMemory && !provider.starts_with("net");
}

Info ask(std::string_view provider, bool reads) {
    const Info hints(library().dupinfo(nullptr));
    hints->caps = reads ? FI_MSG | FI_RMA : FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;  // the lane has one owner
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    // Smaller than libfabric's default. tcp;ofi_rxm allocates buffers for all places: by default 32 MiB and 60 ms for each rank.
    hints->tx_attr->size = hints->rx_attr->size = kPlaces;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    if (!provider.empty()) hints->fabric_attr->prov_name = ::strdup(std::string(provider).c_str());
    fi_info* found = nullptr;
    if (library().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found) != 0) return nullptr;
    return Info(found);
}

Info ask_without_conditions(bool names) {
    fi_info* found = nullptr;
    const std::uint64_t flags = names ? FI_PROV_ATTR_ONLY : 0;
    if (library().getinfo(FI_VERSION(1, 17), nullptr, nullptr, flags, nullptr, &found) != 0) return nullptr;
    return Info(found);
}

std::string describe(const Endpoint* shared_memory, const Endpoint* network) {
    const std::uint32_t version = library().version();
    std::string text = fmt::format("libfabric {}.{}", FI_MAJOR(version), FI_MINOR(version));
    if (shared_memory) text += ", shm within a node";
    if (network) text += fmt::format(", {} over {}", network->provider(), network->info().domain_attr->name);
    return text;
}

Providers choose(const TransportOptions& options) {
    Providers chosen;
    const bool one_host = options.size == options.local_size;
    const std::string& named = options.ofi_provider;
    if (!named.empty()) {
        if (named == kSharedMemory) {
            if (!one_host)
                throw Error(ErrorCode::transport,
                            "ROLLCALL_OFI_PROVIDER=shm, but the job is on several hosts, and shared memory reaches only this one: unset "
                            "it, or name the provider of a network (tcp)");
            check_shared_memory(options, true);
            chosen.shared_memory = ask(kSharedMemory);
            if (chosen.shared_memory) return chosen;
        } else {
            for (const std::string& each : wanted(options))
                if ((chosen.network = network(options, each))) return chosen;
        }
        throw Error(ErrorCode::transport,
                    fmt::format("ROLLCALL_OFI_PROVIDER={}: libfabric has no such provider here with reliable datagrams (FI_EP_RDM){}{}; "
                                "`rollcall info` shows those it has",
                                named, options.interfaces.empty() ? "" : " on ", names_of(options)));
    }
    if (options.local_size > 1 || one_host) {
        check_shared_memory(options, false);
        chosen.shared_memory = ask(kSharedMemory);
    }
    if (one_host && chosen.shared_memory) return chosen;
    for (const std::string& each : wanted(options))
        if ((chosen.network = network(options, each))) return chosen;
    throw Error(ErrorCode::transport,
                fmt::format("libfabric has no provider{}{} that reaches other hosts; `rollcall info` shows those it has, "
                            "ROLLCALL_NET chooses interfaces",
                            options.interfaces.empty() ? "" : " on ", names_of(options)));
}

}  // namespace rollcall::transport::ofi
