#include "transports/ofi/domains.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::transport::ofi {
namespace {

std::string_view text_of(const char* text) { return text ? text : ""; }

// The name of a domain, without what efa appends to the name of the device, and the name that the provider gives the device.
std::array<std::string_view, 2> device_names_of(const fi_info& info) {
    std::string_view domain = text_of(info.domain_attr->name);
    for (const std::string_view suffix : {"-rdm", "-dgrm"})
        if (domain.ends_with(suffix)) domain.remove_suffix(suffix.size());
    return {domain, info.nic && info.nic->device_attr ? text_of(info.nic->device_attr->name) : ""};
}

bool is_named_after(const fi_info& info, const Place& place) {
    const std::string_view name = place.name;
    const auto is_it = [&](std::string_view its) { return its == name || its == name.substr(0, name.find(':')); };
    return std::ranges::any_of(device_names_of(info), is_it);  // "mlx5_0:1" is a port of mlx5_0
}

// Where the provider says that the device is, as part of a path in /sys. Empty: it does not say.
std::string pci_of(const fi_info& info) {
    if (!info.nic || !info.nic->bus_attr || info.nic->bus_attr->bus_type != FI_BUS_PCI) return {};
    const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
    return fmt::format("/{:04x}:{:02x}:{:02x}.{:x}/", pci.domain_id, pci.bus_id, pci.device_id, pci.function_id);
}

}  // namespace

std::vector<Place> places_of(std::span<const Interface> interfaces) {
    namespace fs = std::filesystem;
    std::vector<Place> places;
    for (const Interface& interface : interfaces) {
        const std::string name = interface.name.substr(0, interface.name.find(':'));
        std::error_code unknown;
        const fs::path device =
            fs::canonical(fs::path(interface.rdma ? "/sys/class/infiniband" : "/sys/class/net") / name / "device", unknown);
        places.push_back({interface.name, unknown ? "" : device.string(), interface.rdma, interface.speed_megabits});
    }
    return places;
}

std::optional<std::size_t> place_of(const fi_info& info, const Places& places) {
    const auto index_of = [&](auto found) { return static_cast<std::size_t>(found - places.wanted.begin()); };
    // The name says more than the address: an RDMA device and its network interface are one device.
    const auto has_name = [&](const Place& place) { return is_named_after(info, place); };
    const auto named = std::ranges::find_if(places.wanted, has_name);
    if (named != places.wanted.end()) return index_of(named);
    if (std::ranges::any_of(places.others, has_name)) return std::nullopt;
    const std::string address = pci_of(info);
    const auto has_address = [&](const Place& place) {
        return !address.empty() && (place.device + "/").find(address) != std::string::npos;
    };
    const auto there = std::ranges::find_if(places.wanted, has_address);
    if (there != places.wanted.end() || !places.are_named) return index_of(there);
    return std::nullopt;
}

std::uint64_t speed_of(const fi_info& info, const Places& places) {
    constexpr std::uint64_t kMega = 1'000'000;
    const std::string_view provider = text_of(info.fabric_attr->prov_name);
    if (provider.starts_with("tcp") || provider.starts_with("net") || provider.starts_with("sockets") || provider.starts_with("udp"))
        return 0;
    if (info.nic && info.nic->link_attr && info.nic->link_attr->speed) return info.nic->link_attr->speed / kMega;
    const auto its = std::ranges::find_if(places.wanted, [&](const Place& place) { return is_named_after(info, place); });
    return its != places.wanted.end() && its->rdma ? its->speed_megabits : 0;
}

const fi_info* best_of(std::vector<Candidate> candidates, int turn) {
    std::ranges::stable_sort(candidates, {}, &Candidate::order);
    const Candidate best = *std::ranges::max_element(candidates, {}, &Candidate::speed);
    // A domain may be in the list several times.
    std::vector<const fi_info*> equals;
    for (const Candidate& each : candidates) {
        const auto is_same = [&](const fi_info* other) {
            return text_of(other->domain_attr->name) == text_of(each.info->domain_attr->name);
        };
        const bool is_equal = each.speed == best.speed && each.info->addr_format == best.info->addr_format &&
                              text_of(each.info->fabric_attr->name) == text_of(best.info->fabric_attr->name);
        if (is_equal && std::ranges::none_of(equals, is_same)) equals.push_back(each.info);
    }
    return equals[static_cast<std::size_t>(turn) % equals.size()];
}

bool is_on_rdma(const fi_info& info, const Places& places) {
    const auto is_it = [&](const Place& place) { return place.rdma && is_named_after(info, place); };
    return std::ranges::any_of(places.wanted, is_it) || std::ranges::any_of(places.others, is_it);
}

}  // namespace rollcall::transport::ofi
