#include "bench/results/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <rollcall/error.hpp>
#include <vector>

namespace rollcall::bench {
namespace {

constexpr double kTail = 0.025;  // Probability on either side; 5 % together.

/// P(Binomial(n, 1/2) = k). Computed with logarithms, because 0.5^n is below the smallest double from n = 1075 on.
double binomial_probability(std::size_t n, std::size_t k) {
    const auto N = static_cast<double>(n);
    const auto K = static_cast<double>(k);
    return std::exp(std::lgamma(N + 1) - std::lgamma(K + 1) - std::lgamma(N - K + 1) - N * std::numbers::ln2);
}

struct Order {
    std::size_t k;     // 1: the smallest sample
    double tail_mass;  // P(Binomial(n, 1/2) < k)
};

Order find_order(std::size_t n) {
    Order order{1, binomial_probability(n, 0)};
    for (;;) {
        const double next = order.tail_mass + binomial_probability(n, order.k);
        if (next > kTail) return order;
        order = {order.k + 1, next};
    }
}

/// The 97.5th percentile of Student's distribution. Up to 4 degrees of freedom it is from a table, then by the expansion of Abramowitz and
/// Stegun (26.7.5), whose error is below 0.2 %.
double student_t(double degrees) {
    constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776}, kNormal = 1.959964;
    if (degrees <= 4) return kTable[static_cast<std::size_t>(degrees) - 1];
    const double z = kNormal, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * std::pow(degrees, 2)) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * std::pow(degrees, 3));
}

bool has_nan(std::span<const double> samples) {
    return std::any_of(samples.begin(), samples.end(), [](double sample) { return std::isnan(sample); });
}

void require_samples(std::span<const double> samples) {
    if (samples.empty()) throw Error(ErrorCode::invalid_argument, "there are no samples to take a median of");
}

}  // namespace

std::size_t interval_order(std::size_t n) { return n < kFewestSamples ? 1 : find_order(n).k; }

double interval_confidence(std::size_t n) {
    if (n < 2) return 0;
    return 1 - 2 * (n < kFewestSamples ? binomial_probability(n, 0) : find_order(n).tail_mass);
}

Estimate estimate(std::span<const double> samples) {
    require_samples(samples);
    if (has_nan(samples)) {
        constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
        return {kUndefined, kUndefined, kUndefined};
    }
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    const std::size_t k = interval_order(n);
    const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    return {median, sorted[k - 1], sorted[n - k]};
}

bool is_unsteady(std::span<const double> samples) { return percentile(samples, 75) > kUnsteady * percentile(samples, 25); }

Estimate estimate_mean(std::span<const double> samples) {
    require_samples(samples);
    const auto n = static_cast<double>(samples.size());
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    const double half = samples.size() < 2 ? 0 : student_t(n - 1) * std::sqrt(squares / (n - 1) / n);
    return {mean, mean - half, mean + half};
}

Estimate estimate_ratio_of_means(std::span<const double> numerators, std::span<const double> denominators) {
    if (numerators.size() != denominators.size())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} and {} samples do not make pairs", numerators.size(), denominators.size()));
    const double base = estimate_mean(denominators).median, ratio = estimate_mean(numerators).median / base;
    std::vector<double> residuals;
    for (std::size_t i = 0; i < numerators.size(); ++i) residuals.push_back((numerators[i] - ratio * denominators[i]) / base);
    const Estimate around_zero = estimate_mean(residuals);
    return {ratio, ratio + around_zero.low, ratio + around_zero.high};
}

double percentile(std::span<const double> samples, double percent) {
    require_samples(samples);
    if (!(percent >= 0 && percent <= 100))
        throw Error(ErrorCode::invalid_argument, fmt::format("a percentile lies between 0 and 100, not at {}", percent));
    if (has_nan(samples)) return std::numeric_limits<double>::quiet_NaN();
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    const double position = percent / 100 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace rollcall::bench
