#include "command/algorithms.hpp"

#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/catalogue.hpp"

namespace rollcall::command {

void print_algorithms(output::Format format) {
    const bool is_text = format == output::Format::text;
    // Text for a screen has a table for each operation, so that more columns are left for the texts.
    const bool in_sections = is_text && output::columns_before_break() != std::numeric_limits<std::size_t>::max();
    std::vector<std::string> columns = {"operation", "name", "aliases", "summary", "limits"};
    if (!is_text) columns = {"operation", "name", "aliases", "segmented", "simulated_only", "summary", "limits", "paper"};
    output::Table table(std::cout, format, columns);
    table.break_after(output::columns_before_break());
    std::string_view operation;
    const auto add = [&](const collectives::AlgorithmEntry& entry) {
        const std::string_view its = runtime::name(entry.operation);
        if (in_sections && its != operation) {
            table.finish();
            std::cout << (operation.empty() ? "" : "\n") << its << ":\n";
            operation = its;
        }
        output::Row row = {{"name", entry.name}, {"aliases", fmt::format("{}", fmt::join(entry.aliases, " "))}};
        if (!in_sections) row.insert(row.begin(), {"operation", its});
        if (!is_text) {
            row.push_back({"segmented", entry.segmented});
            row.push_back({"simulated_only", entry.needs.contains(collectives::Condition::oracle)});
        }
        row.push_back({"summary", entry.summary});
        row.push_back({"limits", entry.limits});
        if (!is_text) row.push_back({"paper", entry.paper});
        table.add(row);
    };
    for (const collectives::OperationRow& row : collectives::all_operations())
        for (const auto& entry : row.algorithms) add(entry);
    table.finish();
    constexpr const char* kLeftOut = "columns not shown (use --format csv or json): segmented, simulated_only, paper";
    for (const std::string& line : output::broken(kLeftOut, output::columns_before_break()))
        if (is_text) std::cout << line << '\n';
}

}  // namespace rollcall::command
