/// \file
/// What each rank tells all others when the job starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/node/segment.hpp"
#include "transports/single_copy.hpp"

namespace rollcall::runtime {

/// The texts and addresses are views: of what it was made from, or of the bytes it was read from.
struct Card {
    /// How this rank is reached by one of its transports.
    struct Address {
        std::string_view transport;  ///< Its name.
        std::uint32_t version = 0;   ///< Transport::version()
        bool shares_memory = false;  ///< Transport::shares_memory()
        std::span<const std::byte> bytes;
    };

    std::string_view host;
    std::string_view cpus;                ///< As format_cpus() writes them.
    std::uint64_t clock = 0;              ///< Of the host: clock_identity().
    std::uint32_t allowance = 0;          ///< Eager bytes that this rank grants each peer.
    bool accepts_eager_data = false;      ///< Whether eager messages to it may carry data.
    node::Handle node;                    ///< How it shares memory with the ranks of its node.
    transport::SingleCopyHandle memory;   ///< How the ranks of its node read its memory.
    std::span<const std::byte> lifeline;  ///< Lifelines::address()
    std::vector<Address> addresses;       ///< One for each of its transports, in the order in which the process has them.
};

std::vector<std::byte> write_card(const Card& card);
/// Nothing: another version of Rollcall has written it, or it is damaged.
std::optional<Card> read_card(std::span<const std::byte> bytes);

/// Whether two ranks have the same transports, in versions that can talk to each other. Throws Error{bootstrap} that names both if not.
void check_transports(const Card& mine, int my_rank, const Card& its, int its_rank);

}  // namespace rollcall::runtime
