#include "transports/ofi/peer.hpp"

#include <string_view>

#include <fmt/format.h>

namespace rollcall::transport::ofi {
namespace {

bool shares_memory(const Door& one, const Door& other) { return one.domain != 0 && one.domain == other.domain; }

}  // namespace

std::vector<std::byte> address_of(const Door& door, const Endpoint* shared_memory, const Endpoint* network, const Exposed* board) {
    std::vector<std::byte> parts;
    append(parts, &door, sizeof door);
    const auto add = [&](const Endpoint* endpoint) {
        const std::vector<std::byte> bytes = endpoint ? endpoint->address() : std::vector<std::byte>();
        append(parts, bytes.data(), bytes.size());
    };
    add(shared_memory);
    const std::string provider = network ? network->provider() : "";
    append(parts, provider.data(), provider.size());
    add(network);
    append(parts, board, board ? sizeof *board : 0);
    return parts;
}

std::string Peer::reach(const Door& home, Endpoint* shared_memory, Endpoint* network, int rank, int its_rank) {
    const Door its_door = door();
    const auto provider = part_of_address(kProviderPart);
    fi_addr_t to = FI_ADDR_UNSPEC;
    const std::string_view its(reinterpret_cast<const char*>(provider.data()), provider.size());
    if (shared_memory && shares_memory(its_door, home) && !part_of_address(kSharedMemoryPart).empty()) {
        neighbour = std::make_unique<Neighbour>();
        if (!neighbour->open(its_door) || !shared_memory->insert(part_of_address(kSharedMemoryPart), to))
            return "its shared memory cannot be reached";
        stream.open(*shared_memory, to, neighbour.get(), rank, its_rank);
        return "";
    }
    if (!network) return "it shares no memory with this rank: set ROLLCALL_OFI_PROVIDER=tcp";
    if (its != network->provider())
        return fmt::format("it uses libfabric's provider {}, but this rank uses {}: set ROLLCALL_OFI_PROVIDER to the same for all ranks",
                           its.empty() ? "shm" : its, network->provider());
    if (!network->insert(part_of_address(kNetworkPart), to)) return "libfabric does not accept its address";
    stream.open(*network, to, nullptr, rank, its_rank);
    if (const auto place = part_of_address(kBoardPart); network->can_write() && place.size() == sizeof(Exposed))
        std::memcpy(&board.emplace(), place.data(), sizeof(Exposed));
    return "";
}

void Peer::clear_away(const Door& home) const {
    const auto file = part_of_address(kSharedMemoryPart);
    if (shares_memory(door(), home) && !file.empty())
        Neighbour::clear_away(door(), {reinterpret_cast<const char*>(file.data()), file.size()});
}

}  // namespace rollcall::transport::ofi
