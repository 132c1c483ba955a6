#include "bench/cases/paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/cases/summands.hpp"

namespace rollcall::bench {
namespace {

using runtime::OperationKind;

constexpr PaperTable kTables[] = {
    {.name = "table3",
     .operation = OperationKind::scatter,
     .algorithm = "background_sorted_linear",
     .base = "linear",
     .entries = {{{{{0.0, 1.02}, {-0.1, 1.20}, {0.0, 1.01}, {-0.1, 1.01}, {-0.1, 1.00}, {-0.1, 1.00}, {0.0, 1.00}}},
                  {{{0.2, 0.85}, {-0.1, 1.12}, {-0.1, 1.01}, {-0.1, 1.01}, {-0.1, 1.00}, {-0.1, 1.00}, {-0.1, 1.00}}},
                  {{{-0.1, 1.06}, {0.1, 0.94}, {-0.1, 1.02}, {-0.1, 1.01}, {-0.1, 1.00}, {-0.1, 1.00}, {-0.1, 1.00}}},
                  {{{0.2, 0.99}, {-0.8, 1.03}, {-0.6, 1.02}, {-2.9, 1.08}, {-15.6, 1.27}, {-15.3, 1.15}, {-16.9, 1.04}}},
                  {{{-1.3, 1.02}, {-1.6, 1.03}, {-1.4, 1.02}, {-2.3, 1.03}, {-13.8, 1.15}, {-26.2, 1.21}, {-37.0, 1.08}}}}}},
    {.name = "table4",
     .operation = OperationKind::gather,
     .algorithm = "background_sorted_linear_synchronized",
     .base = "linear_synchronized",
     .entries = {{{{{-0.7, 1.13}, {-0.8, 1.13}, {-4.1, 1.68}, {-4.9, 1.52}, {-4.1, 1.09}, {-3.3, 1.03}, {-2.6, 1.01}}},
                  {{{-1.1, 1.17}, {-0.9, 1.14}, {-4.3, 1.63}, {-5.8, 1.61}, {-4.7, 1.10}, {-4.1, 1.04}, {-3.1, 1.01}}},
                  {{{-0.7, 1.12}, {-0.3, 1.05}, {-3.7, 1.57}, {-4.9, 1.51}, {-4.6, 1.10}, {-3.8, 1.04}, {-3.0, 1.01}}},
                  {{{29.1, 0.79}, {-8.1, 1.07}, {16.6, 0.86}, {22.2, 0.83}, {-69.6, 2.40}, {-72.2, 1.74}, {-68.1, 1.14}}},
                  {{{-25.5, 1.23}, {46.8, 0.69}, {25.9, 0.81}, {31.7, 0.78}, {-84.4, 2.52}, {-97.3, 1.98}, {-88.5, 1.18}}}}}},
};

constexpr std::string_view kReduces[] = {"clairvoyant", "ring", "binomial", "rabenseifner", "radix_k"};
constexpr std::string_view kAllreduces[] = {"clairvoyant",        "straggler",       "ring", "rabenseifner", "recursive_doubling",
                                            "sorted_linear_tree", "pre_reduced_ring"};
constexpr std::span<const Nanoseconds> kAllDelays = PaperTable::kDelays;

// Figure 10 shows the influence of the delays, and figure 11 that of the number of ranks.
constexpr PaperFigure kFigures[] = {
    {"fig10", OperationKind::reduce, kAllDelays, kReduces},
    {"fig11", OperationKind::reduce, kAllDelays.last(1), kReduces},
    {"fig10", OperationKind::allreduce, kAllDelays, kAllreduces},
    {"fig11", OperationKind::allreduce, kAllDelays.last(1), kAllreduces},
};

template <class Values, class Value>
std::size_t place(const Values& values, Value value) {
    const auto found = std::find(values.begin(), values.end(), value);
    if (found == values.end()) throw std::out_of_range(fmt::format("the table has nothing for {}", value));
    return static_cast<std::size_t>(found - values.begin());
}

double run_time(const CallSample& call) { return measure(call.arrivals, call.exits, {}).run_time; }

}  // namespace

const PaperTable::Entry& PaperTable::entry(std::uint64_t bytes, Nanoseconds delay) const {
    return entries[place(kSizes, bytes)][place(kDelays, delay)];
}

std::span<const PaperTable> paper_tables() { return kTables; }

std::span<const PaperFigure> paper_figures() { return kFigures; }

std::string paper_pattern(Nanoseconds delay) {
    if (delay == 0) return "balanced";
    return delay % 1'000'000 == 0 ? fmt::format("uniform:0..{}ms", delay / 1'000'000) : fmt::format("uniform:0..{}ns", delay);
}

std::uint64_t scaled_bytes(std::uint64_t bytes, double scale) {
    const auto elements = static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes / kElement) * scale));
    return bytes == 0 ? 0 : std::max<std::uint64_t>(elements, 1) * kElement;
}

Nanoseconds scaled_time(Nanoseconds time, double scale) {
    return time == 0 ? 0 : std::max<Nanoseconds>(std::llround(static_cast<double>(time) * scale), 1);
}

void compare(Cell& cell, const PaperTable& table, std::span<const CallSample> calls, std::span<const CallSample> base_calls) {
    const auto delay = std::find_if(PaperTable::kDelays.begin(), PaperTable::kDelays.end(),
                                    [&](Nanoseconds one) { return paper_pattern(one) == cell.identity.pattern; });
    if (delay == PaperTable::kDelays.end()) throw std::out_of_range("the table has no column for " + cell.identity.pattern);
    const PaperTable::Entry& paper = table.entry(cell.identity.bytes, *delay);
    std::vector<double> base, difference, quotient;
    for (std::size_t i = 0; i < std::min(calls.size(), base_calls.size()); ++i) {
        base.push_back(run_time(base_calls[i]));
        difference.push_back(run_time(calls[i]) - base.back());
        quotient.push_back(base.back() / run_time(calls[i]));
    }
    for (Metric& metric : cell.metrics) metric.in_table = metric.in_table && metric.name == "run_time";
    cell.metrics.push_back(metric("base_run_time", Unit::seconds, base));
    cell.metrics.push_back(metric("difference", Unit::seconds, difference));
    cell.metrics.push_back(constant("paper_difference", Unit::seconds, paper.difference / 1e3));
    cell.metrics.push_back(metric("quotient", Unit::ratio, quotient));
    cell.metrics.push_back(constant("paper_quotient", Unit::ratio, paper.quotient));
    cell.notes.emplace_back("paper", table.name);
    cell.notes.emplace_back("base", table.base);
}

}  // namespace rollcall::bench
