/// \file
/// Which allgathers between two groups are measured or simulated: the settings of Kang, Träff et al., or any two groups.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/lists.hpp"

namespace rollcall::bench {

/// The blocks of the ranks of both groups, in bytes.
struct GroupCase {
    std::string setting;  ///< "1" to "8"; empty: none of the paper's settings.
    std::vector<std::uint64_t> first, second;
    bool own_sizes = false;

    std::uint64_t bytes_of_first() const;
    std::uint64_t bytes_of_second() const;
    /// The least time of an allgather, as the number of bytes that some rank must receive.
    std::uint64_t most_received() const;
    /// Equation (5): how many times as long as the full-duplex allgather the sequential root gathering takes, if blocks are long.
    double expected_improvement() const;
};

/// The algorithm with which the paper compares its own: MPICH's.
inline constexpr std::string_view kIntergroupBaseline = "root_gathering_sequential";

/// What a program gets that names no algorithm.
inline constexpr std::string_view kIntergroupAutomatic = "auto";

/// The algorithms of this list of names or aliases. Real ranks may be on one node, and may call without a name (`auto`, which `all` does
/// not contain); simulated ones have a host each. Throws Error{invalid_argument}.
std::vector<std::string> parse_intergroup_algorithms(std::string_view names, bool are_real);

/// The settings of this list, or `all`, for each number of ranks and each mean block. `own_sizes`: only those of blocks of different sizes,
/// or only the others. Throws Error{invalid_argument}.
std::vector<GroupCase> cases_of_settings(std::string_view settings, std::optional<bool> own_sizes, std::span<const std::uint64_t> ranks,
                                         std::span<const std::uint64_t> blocks);

/// "12,4" gives 12 and 4. Throws Error{invalid_argument}.
std::vector<std::uint64_t> parse_groups(const std::string& text);

/// The same, whose sum must be `ranks`. An empty text gives half of the ranks each.
std::vector<std::uint64_t> groups_of(const std::string& text, int ranks);

/// `ranks` blocks of this mean size, or of 1, 2, 3, ... times something with this mean.
std::vector<std::uint64_t> blocks_of(std::uint64_t ranks, std::uint64_t mean, bool is_sequence);

inline constexpr std::uint64_t kMostSimulatedRanks = 4096;

}  // namespace rollcall::bench
