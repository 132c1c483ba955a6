/// \file
/// For the drivers: lists the algorithms, from the library's own table.
#pragma once

#include <string>

#include "collectives/catalogue.hpp"
#include "tests/process/harness.hpp"

namespace rollcall::test {

/// The conditions of calls whose ranks are all on one host.
inline constexpr collectives::Conditions kOneHost = collectives::kReal.without(collectives::Condition::several_nodes);

/// Returns the algorithms of an operation that run between real processes with these conditions.
inline Words algorithms(runtime::OperationKind operation, collectives::Conditions has = kOneHost) {
    const auto names = collectives::algorithm_names(operation, has);
    return {names.begin(), names.end()};
}
/// The conditions where ranks share no memory, as without landing or without slots.
inline constexpr collectives::Conditions kByMessages = kOneHost.without(collectives::Condition::node_memory);

/// Returns "SCENARIO:OPERATION:ALGORITHM<rest>" for each algorithm of each operation that moves data.
inline Words for_all_algorithms(const std::string& scenario, const std::string& rest = "", collectives::Conditions has = kOneHost) {
    Words scenarios;
    for (const collectives::OperationRow& row : collectives::operations())
        if (row.moves_data)
            for (const std::string& algorithm : algorithms(row.kind, has))
                scenarios.push_back(scenario + ":" + std::string(name(row.kind)) + ":" + algorithm + rest);
    return scenarios;
}

/// Returns "SCENARIO:OPERATION" for each operation that moves data.
inline Words for_all_operations(const std::string& scenario) {
    Words scenarios;
    for (const collectives::OperationRow& row : collectives::operations())
        if (row.moves_data) scenarios.push_back(scenario + ":" + std::string(name(row.kind)));
    return scenarios;
}

}  // namespace rollcall::test
