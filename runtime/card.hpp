/// \file
/// The card: what each rank tells all other ranks when the job starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/node/segment.hpp"
#include "transports/single_copy.hpp"

namespace rollcall::runtime {

/// The strings and addresses are views. They refer to the data from which the card was made, or to the bytes from which it was read.
struct Card {
    /// How other ranks reach this rank through one of its transports.
    struct Address {
        std::string_view transport;  ///< The name of the transport.
        std::uint32_t version = 0;   ///< Transport::version()
        std::span<const std::byte> bytes;
    };

    std::string_view host;
    std::string_view cpus;                ///< In the format of format_cpus().
    std::uint64_t clock = 0;              ///< Identifies the clock of the host: clock_identity().
    std::uint32_t allowance = 0;          ///< Eager bytes that this rank grants each peer.
    bool accepts_eager_data = false;      ///< Whether eager messages to it may carry data.
    node::Handle node;                    ///< How this rank shares memory with the ranks of its node.
    transport::SingleCopyHandle memory;   ///< How the ranks of its node read the memory of this rank.
    std::span<const std::byte> lifeline;  ///< Lifelines::address()
    std::span<const std::byte> costs;     ///< On the card of rank 0: the Costs of the job. On others: nothing.
    std::vector<Address> addresses;       ///< One for each of its transports, in the order of the process's list.
};

std::vector<std::byte> write_card(const Card& card);
/// Returns nothing if another version of Rollcall wrote the card, or if the card is damaged.
std::optional<Card> read_card(std::span<const std::byte> bytes);

/// Checks that two ranks have the same transports, in versions that can talk to each other. Otherwise throws Error{bootstrap} that names
/// both ranks.
void check_transports(const Card& mine, int my_rank, const Card& its, int its_rank);

}  // namespace rollcall::runtime
