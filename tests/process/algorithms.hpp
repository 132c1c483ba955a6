/// \file
/// For the drivers: lists the algorithms, from the library's own table. The ranks write it to a file when they are built (ranks/main.cpp),
/// so that drivers need no library.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "tests/process/harness.hpp"

namespace rollcall::test {

/// The conditions of calls whose ranks are all on one host.
inline constexpr collectives::Conditions kOneHost = collectives::kReal.without(collectives::Condition::several_nodes);

/// An operation in the table, with its algorithms and what each of them needs.
struct OperationInTable {
    runtime::OperationKind kind;
    std::string name;
    bool moves_data;
    struct Algorithm {
        std::string name;
        collectives::Conditions needs;
    };
    std::vector<Algorithm> algorithms;
};

/// The whole table, in its order.
inline const std::vector<OperationInTable>& operations_in_table() {
    static const auto table = [] {
        std::vector<OperationInTable> all;
        std::ifstream file(ROLLCALL_TEST_ALGORITHMS);
        int kind = 0, needs = 0;
        bool moves_data = false;
        for (std::string name; file >> kind >> moves_data >> needs >> name;) {
            const auto of = static_cast<runtime::OperationKind>(kind);
            if (all.empty() || all.back().kind != of) all.push_back({of, std::string(runtime::name(of)), moves_data, {}});
            collectives::Conditions conditions;
            for (int bit = 1; bit <= needs; bit *= 2)
                if (needs & bit) conditions = conditions.with(static_cast<collectives::Condition>(bit));
            all.back().algorithms.push_back({name, conditions});
        }
        if (all.empty()) throw std::runtime_error(ROLLCALL_TEST_ALGORITHMS " has no table of algorithms: build test_ranks again");
        return all;
    }();
    return table;
}

/// Returns the algorithms of an operation that run between real processes with these conditions.
inline Words algorithms(const OperationInTable& operation, collectives::Conditions has = kOneHost) {
    Words names;
    for (const auto& algorithm : operation.algorithms)
        if (has.contains(algorithm.needs)) names.push_back(algorithm.name);
    return names;
}
inline Words algorithms(runtime::OperationKind kind, collectives::Conditions has = kOneHost) {
    for (const OperationInTable& operation : operations_in_table())
        if (operation.kind == kind) return algorithms(operation, has);
    throw std::runtime_error("the operation is not in the table of algorithms");
}
/// The conditions where ranks share no memory, as without landing or without slots.
inline constexpr collectives::Conditions kByMessages = kOneHost.without(collectives::Condition::node_memory);

/// Returns "SCENARIO:OPERATION:ALGORITHM<rest>" for each algorithm of each operation that moves data.
inline Words for_all_algorithms(const std::string& scenario, const std::string& rest = "", collectives::Conditions has = kOneHost) {
    Words scenarios;
    for (const OperationInTable& operation : operations_in_table())
        if (operation.moves_data)
            for (const std::string& algorithm : algorithms(operation, has))
                scenarios.push_back(scenario + ":" + operation.name + ":" + algorithm + rest);
    return scenarios;
}

/// Returns "SCENARIO:OPERATION" for each operation that moves data.
inline Words for_all_operations(const std::string& scenario) {
    Words scenarios;
    for (const OperationInTable& operation : operations_in_table())
        if (operation.moves_data) scenarios.push_back(scenario + ":" + operation.name);
    return scenarios;
}

}  // namespace rollcall::test
