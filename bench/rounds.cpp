#include "bench/rounds.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <rollcall/error.hpp>

#include "bench/lists.hpp"
#include "bench/statistics.hpp"

namespace rollcall::bench {

std::vector<TransportChoice> parse_transports(std::string_view text) {
    static const std::vector<TransportChoice> kAll = {{"default", {}}, {"shm", {"UCX_TLS=posix,self"}}, {"tcp", {"UCX_TLS=tcp,self"}}};
    std::vector<Choice> choices;
    for (const TransportChoice& one : kAll) choices.push_back({.name = one.name});
    std::vector<TransportChoice> chosen;
    for (const std::string& name : parse_names(text, "transport", choices)) {
        if (inside_job() && name != "default")
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--transport {} in a job that is already running; allowed: default (give the job "
                                    "UCX_TLS, or start the benchmark outside of a job)",
                                    name));
        chosen.push_back(*std::find_if(kAll.begin(), kAll.end(), [&](const auto& one) { return one.name == name; }));
    }
    return chosen;
}

std::vector<double> together(const Rounds& rounds) {
    std::vector<double> all;
    for (const auto& round : rounds) all.insert(all.end(), round.begin(), round.end());
    return all;
}

std::vector<double> ratios(const Rounds& numerator, const Rounds& denominator) {
    std::vector<double> all;
    for (std::size_t round = 0; round < std::min(numerator.size(), denominator.size()); ++round)
        all.push_back(estimate(numerator[round]).median / estimate(denominator[round]).median);
    return all;
}

Cell plain_cell(CellIdentity identity, std::span<const double> run_time) {
    Cell cell;
    cell.identity = std::move(identity);
    cell.identity.iterations = run_time.size();
    cell.metrics.push_back(metric("run_time", Unit::seconds, run_time));
    for (const char* name : {"mean_elapsed", "worst_elapsed", "last_delay"}) {
        cell.metrics.push_back(undefined(name, Unit::seconds));
        cell.metrics.back().in_table = false;
    }
    return cell;
}

Metric undefined(std::string name, Unit unit) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {std::move(name), unit, {kNone, kNone, kNone}};
}

}  // namespace rollcall::bench
