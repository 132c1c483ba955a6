#include "transports/ofi/peer.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fmt/format.h>

#include "foundation/error_text.hpp"

namespace rollcall::transport::ofi {

std::vector<std::byte> address_of(const NodeHandle& node_handle, const Endpoint* shared_memory, const Endpoint* network,
                                  const Exposed* board) {
    std::vector<std::byte> parts;
    append(parts, &node_handle, sizeof node_handle);
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

std::string Peer::reach(const NodeHandle& home, Endpoint* shared_memory, Endpoint* network, int rank, int its_rank) {
    const auto provider = part_of_address(kProviderPart);
    fi_addr_t to = FI_ADDR_UNSPEC;
    const std::string_view its(reinterpret_cast<const char*>(provider.data()), provider.size());
    if (shared_memory && shares_memory(home)) {
        neighbour = std::make_unique<Neighbour>();
        if (!neighbour->open(node_handle()) || !shared_memory->insert(part_of_address(kSharedMemoryPart), to))
            return fmt::format("its shared memory cannot be reached ({}; ROLLCALL_OFI_PROVIDER=tcp does without)", error_text(errno));
        stream.open(*shared_memory, to, neighbour.get(), rank, its_rank);
        return "";
    }
    if (!network) return "it shares no memory with this rank (it is in other namespaces or not dumpable): set ROLLCALL_OFI_PROVIDER=tcp";
    if (its != network->provider())
        return fmt::format("it uses libfabric's provider {}, but this rank uses {}: set ROLLCALL_OFI_PROVIDER to the same for all ranks",
                           its.empty() ? "shm" : its, network->provider());
    if (!network->insert(part_of_address(kNetworkPart), to)) return "libfabric does not accept its address";
    stream.open(*network, to, nullptr, rank, its_rank);
    if (const auto place = part_of_address(kBoardPart); network->can_write() && place.size() == sizeof(Exposed))
        std::memcpy(&board.emplace(), place.data(), sizeof(Exposed));
    return "";
}

void meet_neighbours(std::vector<Peer>& peers, const NodeHandle& home, Endpoint& shared_memory, int rank) {
    const auto sharers = std::ranges::count_if(peers, [&](const Peer& peer) { return peer.shares_memory(home); });
    for (std::size_t its_rank = 0; its_rank < peers.size(); ++its_rank) {
        Peer& peer = peers[its_rank];
        // A peer that cannot be reached is reported when it is used.
        if (!peer.shares_memory(home) || !peer.reach(home, &shared_memory, nullptr, rank, static_cast<int>(its_rank)).empty()) continue;
        // From version 2 on, libfabric maps the file only when something is to be sent. The attempt is enough, so it does not matter
        // whether the packet leaves: it is an answer that nobody has asked for, which means nothing.
        constexpr Numbers kAnswer{};
        peer.stream.send_now(Kind::check, &kAnswer, {}, {});
        const auto address = peer.part_of_address(kSharedMemoryPart);
        peer.neighbour->has_mapped({reinterpret_cast<const char*>(address.data()), address.size()}, static_cast<unsigned>(sharers));
    }
}

}  // namespace rollcall::transport::ofi
