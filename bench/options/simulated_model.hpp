/// \file
/// Parses the description of a simulated network on the command line.
#pragma once

#include <cstdint>
#include <string_view>

#include "transports/simulated/simulated_network.hpp"

namespace rollcall::bench {

inline constexpr const char* kDefaultModel = "alpha=2us,beta=0.8,gamma=0.1,ports=1,duplex=full,notice=2us";

/// Parses "alpha=5us,ports=2,cut-through" and changes the parts of the model that are named. Throws Error{invalid_argument} with one line
/// that names the entry and lists what is allowed.
void change_model(transport::Model& model, std::string_view text);

/// Refuses a model in which the times of a simulation may be more than nanoseconds of 63 bits can count. `calls` calls follow one another
/// in it, with messages of so many bytes to each rank. Throws Error{invalid_argument}.
void require_countable(const transport::Model& model, std::uint64_t bytes, std::uint64_t ranks, std::uint64_t calls);

}  // namespace rollcall::bench
