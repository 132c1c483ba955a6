/// \file
/// Where the ranks of a call are, for tests of what `auto` takes.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

inline constexpr Conditions kApart = kUsual.with(Condition::background);
inline constexpr Conditions kOnNodes = kApart.with(Condition::several_nodes | Condition::even_nodes);
inline constexpr Conditions kOnOneNode = kApart.with(Condition::shared_boards | Condition::node_memory);

}  // namespace rollcall::collectives
