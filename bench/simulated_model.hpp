/// \file
/// The network of simulations, as words of the command line describe it.
#pragma once

#include <string_view>

#include "transports/simulated/simulated_network.hpp"

namespace rollcall::bench {

inline constexpr const char* kDefaultModel = "alpha=2us,beta=0.8,gamma=0.1,ports=1,duplex=full,notice=2us";

/// "alpha=5us,ports=2,cut-through": changes what is named. Throws Error{invalid_argument} in one line that names the entry and lists what
/// is allowed.
void change_model(transport::Model& model, std::string_view text);

}  // namespace rollcall::bench
