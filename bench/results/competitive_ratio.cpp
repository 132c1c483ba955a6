#include "bench/results/competitive_ratio.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace rollcall::bench {
namespace {

constexpr std::string_view kRatio = "performance_ratio", kWorst = "competitive_ratio";

const Metric* ratio_of(const Cell& cell) {
    const auto found = std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& metric) { return metric.name == kRatio; });
    return found == cell.metrics.end() ? nullptr : &*found;
}

std::string note_of(const Cell& cell, std::string_view name) {
    const auto found = std::find_if(cell.notes.begin(), cell.notes.end(), [&](const auto& note) { return note.first == name; });
    return found == cell.notes.end() ? "" : found->second;
}

bool differ_in_pattern_only(const Cell& one, const Cell& other) {
    const CellIdentity &a = one.identity, &b = other.identity;
    return a.algorithm == b.algorithm && a.transport == b.transport && a.ranks == b.ranks && a.bytes == b.bytes &&
           std::ranges::all_of(std::array{"model", "landing", "sizes"},
                               [&](const char* note) { return note_of(one, note) == note_of(other, note); });
}

/// Whether `value` is larger than `than`; every number is larger than none.
bool is_larger(const Estimate& value, const Estimate& than) {
    return !std::isnan(value.median) && (std::isnan(than.median) || value.median > than.median);
}

}  // namespace

void add_competitive_ratios(std::span<Cell> cells, bool in_table) {
    for (Cell& cell : cells) {
        const Metric* const ratio = ratio_of(cell);
        if (!ratio) continue;
        Estimate worst = ratio->value;
        for (const Cell& other : cells)
            if (const Metric* const its = ratio_of(other); its && differ_in_pattern_only(cell, other) && is_larger(its->value, worst))
                worst = its->value;
        cell.metrics.insert(cell.metrics.begin() + (ratio - cell.metrics.data()) + 1, {std::string(kWorst), Unit::ratio, worst, in_table});
    }
}

void CompetitivePrinter::add(Cell cell) {
    if (!held_.empty()) {
        const CellIdentity& held = held_.front().identity;
        if (held.bytes != cell.identity.bytes || held.ranks != cell.identity.ranks) flush();
    }
    held_.push_back(std::move(cell));
    if (!ratio_of(held_.back())) flush();
}

void CompetitivePrinter::finish(bool interrupted) {
    print_held(interrupted);
    printer_.finish();
}

void CompetitivePrinter::print_held(bool interrupted) {
    add_competitive_ratios(held_, several_patterns_);
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    for (Cell& cell : held_)
        for (Metric& metric : cell.metrics)
            if (interrupted && several_patterns_ && metric.name == kWorst) metric.value = {kUnknown, kUnknown, kUnknown};
    for (const Cell& cell : held_) printer_.add(cell);
    held_.clear();
}

}  // namespace rollcall::bench
