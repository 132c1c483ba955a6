#include "bench/results/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall::bench {
namespace {

constexpr double kSecond = 1e9;  // nanoseconds

double seconds(double nanoseconds) { return nanoseconds / kSecond; }
double seconds(Nanoseconds nanoseconds) { return static_cast<double>(nanoseconds) / kSecond; }
double ratio(double numerator, double denominator) {
    return denominator > 0 ? numerator / denominator : std::numeric_limits<double>::quiet_NaN();
}

void require_same_length(std::size_t one, std::size_t other, const char* what) {
    if (one == 0 || one != other)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a call has {} and {} {}: there must be one of each for every rank", one, other, what));
}

}  // namespace

std::string_view name(Model model) noexcept {
    switch (model) {
        case Model::blocking: return "blocking";
        case Model::nonblocking: return "nonblocking";
        case Model::eager: return "eager";
    }
    return "?";
}

Model parse_model(std::string_view text) {
    for (const Model model : {Model::blocking, Model::nonblocking, Model::eager})
        if (text == name(model)) return model;
    throw Error(ErrorCode::invalid_argument, fmt::format("unknown model {}; allowed: blocking, nonblocking, eager", quote(text)));
}

Metrics measure(std::span<const Nanoseconds> arrivals, std::span<const Nanoseconds> exits, const CallSetup& setup) {
    require_same_length(arrivals.size(), exits.size(), "arrivals and exits");
    if (setup.root < 0 || static_cast<std::size_t>(setup.root) >= arrivals.size())
        throw Error(ErrorCode::invalid_argument, fmt::format("root {} is out of range for {} ranks", setup.root, arrivals.size()));

    const std::size_t n = arrivals.size();
    const auto count = static_cast<double>(n);
    const auto [first_arrival, last_arrival] = std::minmax_element(arrivals.begin(), arrivals.end());
    const Nanoseconds last_exit = *std::max_element(exits.begin(), exits.end());
    const Nanoseconds root_arrival = arrivals[static_cast<std::size_t>(setup.root)];

    // Times are relative to the first arrival, so that the sums keep full precision. The clocks count from the start of the machine.
    double total_elapsed = 0, total_arrival = 0, waited_for_root = 0;
    Nanoseconds worst = exits[0] - arrivals[0];
    for (std::size_t i = 0; i < n; ++i) {
        const Nanoseconds elapsed = exits[i] - arrivals[i];
        worst = std::max(worst, elapsed);
        total_elapsed += static_cast<double>(elapsed);
        total_arrival += static_cast<double>(arrivals[i] - *first_arrival);
        waited_for_root += static_cast<double>(std::max<Nanoseconds>(0, root_arrival - arrivals[i]));
    }
    const double mean_arrival = total_arrival / count;
    double total_deviation = 0;
    for (const Nanoseconds arrival : arrivals) total_deviation += std::abs(static_cast<double>(arrival - *first_arrival) - mean_arrival);

    const auto T = static_cast<double>(setup.message_time);
    const double Delta = setup.model == Model::blocking ? static_cast<double>(*last_arrival - root_arrival) : 0.0;

    Metrics metrics;
    metrics.run_time = seconds(last_exit - *first_arrival);
    metrics.mean_elapsed = seconds(total_elapsed / count);
    metrics.worst_elapsed = seconds(worst);
    metrics.last_delay = seconds(last_exit - *last_arrival);
    metrics.spread = seconds(*last_arrival - *first_arrival);
    metrics.mean_deviation = seconds(total_deviation / count);
    metrics.imbalance_factor = ratio(metrics.spread, seconds(T));
    metrics.average_imbalance_factor = ratio(metrics.mean_deviation, seconds(T));
    metrics.lower_bound = seconds((Delta + (count - 1) * T + waited_for_root) / count);
    // Without T the bound says nothing about the algorithm, even if the wait for the root makes it positive.
    metrics.performance_ratio = ratio(metrics.mean_elapsed, setup.message_time > 0 && n > 1 ? metrics.lower_bound : 0.0);
    return metrics;
}

PatternError pattern_error(std::span<const Nanoseconds> asked, std::span<const Nanoseconds> arrivals, Nanoseconds start) {
    require_same_length(asked.size(), arrivals.size(), "asked delays and arrivals");
    double maximum = 0, squares = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const double error = std::abs(static_cast<double>(arrivals[i] - start - asked[i]));
        maximum = std::max(maximum, error);
        squares += error * error;
    }
    return {seconds(maximum), seconds(std::sqrt(squares / static_cast<double>(asked.size())))};
}

}  // namespace rollcall::bench
