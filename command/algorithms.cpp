#include "command/algorithms.hpp"

#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/catalogue.hpp"

namespace rollcall::command {

void print_algorithms(output::Format format) {
    output::Table table(std::cout, format);
    table.fit(output::screen_columns(), {"paper", "simulated_only", "segmented"});
    table.break_after(output::columns_before_break());
    const auto add = [&](const collectives::AlgorithmEntry& entry) {
        table.add({{"operation", runtime::name(entry.operation)},
                   {"name", entry.name},
                   {"aliases", fmt::format("{}", fmt::join(entry.aliases, " "))},
                   {"segmented", entry.segmented},
                   {"simulated_only", entry.needs.contains(collectives::Condition::oracle)},
                   {"summary", entry.summary},
                   {"limits", entry.limits},
                   {"paper", entry.paper}});
    };
    for (const auto& entry : collectives::catalogue()) add(entry);
    for (const collectives::OperationRow& row : collectives::intergroup_operations())
        for (const auto& entry : row.algorithms) add(entry);
    table.finish();
}

}  // namespace rollcall::command
