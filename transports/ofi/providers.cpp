#include "transports/ofi/providers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/kernel.hpp"
#include "transports/ofi/domains.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/shared_memory.hpp"

namespace rollcall::transport::ofi {
namespace {

constexpr std::size_t kPlaces = 256;

bool is_loopback(const fi_info& info) { return info.domain_attr->name && std::string_view(info.domain_attr->name) == "lo"; }

// The interfaces of this host and which of them the job may use. Reading them takes time, so they are read once for all providers.
Places find_places(const TransportOptions& options) {
    Places places;
    places.are_named = options.interfaces_named;
    places.wanted = places_of(options.interfaces);
    std::vector<Interface> others = list_interfaces();
    std::erase_if(others, [&](const Interface& each) {
        return std::ranges::find(options.interfaces, each.name, &Interface::name) != options.interfaces.end();
    });
    places.others = places_of(others);
    return places;
}

// Over sockets psm3 is no better than tcp. Its domains are then named after network interfaces.
bool needs_rdma(const fi_info& info, const TransportOptions& options) {
    return options.ofi_provider.empty() && std::string_view(info.fabric_attr->prov_name).starts_with("psm3");
}

// The ranks of a host may use different devices where any two devices of the fabric reach each other. Over verbs that depends on the
// addresses of the devices, which nothing here knows.
bool reach_each_other(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    return provider.starts_with("cxi") || provider.starts_with("efa");
}

// Returns the fastest RDMA device, or without such devices the first provider that is on one of the interfaces, in the order of the
// interfaces (place_of()). Without interfaces it prefers the loopback for a job on one host, and a provider that is not the loopback for a
// job on several hosts. Among equals, IPv4 comes before IPv6, because not every host reaches the link-local addresses of IPv6. Among the
// remaining ones, the first in libfabric's list is returned, or each rank of a host gets another one (reach_each_other()).
Info on_interface(Info all, const TransportOptions& options, const Places& places) {
    const bool one_host = options.size == options.local_size;
    const auto rank_of = [&](const fi_info& info) -> std::optional<std::size_t> {
        if (needs_rdma(info, options) && !is_on_rdma(info, places)) return std::nullopt;
        const std::size_t rank = info.addr_format == FI_SOCKADDR_IN6 ? 1 : 0;
        if (options.interfaces.empty()) return rank + (is_loopback(info) != one_host && info.domain_attr->name ? 2 : 0);
        const std::optional<std::size_t> place = place_of(info, places);
        return place ? std::optional(rank + *place * 2) : std::nullopt;
    };
    std::vector<Candidate> candidates;
    for (const fi_info* each = all.get(); each; each = each->next)
        if (const std::optional<std::size_t> rank = rank_of(*each)) candidates.push_back({each, *rank, speed_of(*each, places)});
    if (candidates.empty()) return nullptr;
    const bool takes_turns = reach_each_other(*candidates.front().info);
    return Info(library().dupinfo(best_of(std::move(candidates), takes_turns ? options.local_rank : 0)));
}

std::string names_of(const TransportOptions& options) {
    std::string names;
    for (const Interface& interface : options.interfaces) names += (names.empty() ? "" : ", ") + interface.name;
    return names;
}

// opx has reads whether it is asked for them or not.
void without_reads(fi_info& info) {
    constexpr std::uint64_t kAccess = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    info.caps &= ~kAccess;
    info.tx_attr->caps &= ~kAccess;
    info.rx_attr->caps &= ~kAccess;
    info.domain_attr->caps &= ~kAccess;
}

Info network(const TransportOptions& options, const Places& places, std::string_view provider) {
    for (const bool reads : {true, false}) {
        if (reads && options.ofi_reads == "no") continue;
        Info all = ask(provider, reads);
        if (reads && all && !reads_end(*all)) continue;
        Info chosen = all ? on_interface(std::move(all), options, places) : nullptr;
        if (!chosen || (reads && options.ofi_reads != "always" && !reads_alone(*chosen))) continue;
        if (!reads) without_reads(*chosen);
        return chosen;
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

// libfabric names the file of a process in /dev/shm after its PID. Processes of different PID namespaces may have the same PID, and may
// share /dev/shm.
Info shared_memory_here() {
    Info info = ask(kSharedMemory);
    const std::uint64_t its_namespace = namespace_number("pid");
    if (!info || its_namespace == kFirstProcessNamespace) return info;
    const std::string name = fmt::format("fi_shm://{}{}", ::getpid(), its_namespace);
    std::free(info->src_addr);
    info->src_addr = ::strdup(name.c_str());
    info->src_addrlen = name.size() + 1;
    return info;
}

Info first_network(const TransportOptions& options) {
    const Places places = find_places(options);
    for (const std::string& each : wanted(options))
        if (Info chosen = network(options, places, each)) return chosen;
    return nullptr;
}

}  // namespace

bool reads_alone(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    if (provider.starts_with("efa")) return false;  // it says FI_PROGRESS_AUTO, which fi_efa(7) calls an error
    return info.domain_attr->data_progress == FI_PROGRESS_AUTO || provider.starts_with("verbs");
}

bool reads_end(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    return provider != "tcp" && provider != "net" && !provider.starts_with("cxi");
}

bool completes_in_order(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    return provider == kSharedMemory || provider == "tcp" || provider == "tcp;ofi_rxm" || provider.starts_with("net");
}

bool needs_event_queue(const fi_info& info) {
    return std::string_view(info.fabric_attr->prov_name).starts_with("efa");  // efa_base_ep_write_eq_error() calls abort()
}

bool has_descriptor(const fi_info& info) {
    const std::string_view provider = info.fabric_attr->prov_name;
    // psm2 and psm3 have no thread that makes progress unless somebody waits in libfabric, so nothing rings their descriptor.
    return provider != kSharedMemory && !provider.starts_with("net") && !provider.starts_with("psm2") && !provider.starts_with("psm3");
}

Info ask(std::string_view provider, bool reads) {
    const Info hints(library().dupinfo(nullptr));
    hints->caps = reads ? FI_MSG | FI_RMA : FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
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
            if (options.local_size > kMostRanksOfSharedMemory)
                throw Error(ErrorCode::transport,
                            fmt::format("ROLLCALL_OFI_PROVIDER=shm, but libfabric's shared memory connects at most {} ranks, and {} are on "
                                        "this host: unset it, or name the provider of a network (tcp)",
                                        kMostRanksOfSharedMemory, options.local_size));
            check_shared_memory(options, true);
            chosen.shared_memory = shared_memory_here();
            if (chosen.shared_memory) return chosen;
        } else if ((chosen.network = first_network(options))) {
            return chosen;
        }
        throw Error(ErrorCode::transport,
                    fmt::format("ROLLCALL_OFI_PROVIDER={}: libfabric has no such provider here with reliable datagrams (FI_EP_RDM){}{}; "
                                "`rollcall info` shows those it has",
                                named, options.interfaces.empty() ? "" : " on ", names_of(options)));
    }
    // More ranks of a host than its shared memory connects use the network. So does a rank that others may not look into.
    const bool is_reachable = options.local_size == 1 || domain() != 0;
    if ((options.local_size > 1 || one_host) && options.local_size <= kMostRanksOfSharedMemory && is_reachable) {
        check_shared_memory(options, false);
        chosen.shared_memory = shared_memory_here();
    }
    const bool is_enough = one_host && chosen.shared_memory;
    if (is_enough && (options.local_size == 1 || !may_be_apart())) return chosen;
    if ((chosen.network = first_network(options)) || is_enough) return chosen;
    const bool too_many = one_host && options.local_size > kMostRanksOfSharedMemory;
    throw Error(ErrorCode::transport,
                fmt::format("libfabric has no provider{}{} that reaches other hosts{}; `rollcall info` shows those it has, "
                            "ROLLCALL_NET chooses interfaces",
                            options.interfaces.empty() ? "" : " on ", names_of(options),
                            too_many ? fmt::format(", which more than {} ranks of a host need", kMostRanksOfSharedMemory) : ""));
}

}  // namespace rollcall::transport::ofi
