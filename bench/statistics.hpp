/// \file
/// Medians and their confidence intervals, without any assumption about how the samples are distributed.
#pragma once

#include <cstddef>
#include <span>

namespace rollcall::bench {

/// A median with the ends of its 95 % confidence interval; the unit is that of the samples.
struct Estimate {
    double median = 0;
    double low = 0;
    double high = 0;

    bool operator==(const Estimate&) const = default;
};

/// Fewest samples whose whole range covers the median with 95 %: 1 - 2 * 0.5^6 = 0.969, whereas five give 0.9375.
inline constexpr std::size_t kFewestSamples = 6;

/// The median, and the narrowest symmetric interval [x_(k), x_(n+1-k)] of order statistics that covers the median of
/// the distribution with at least 95 %: the largest k with P(Binomial(n, 1/2) < k) <= 0.025. Exact for independent
/// samples of any distribution. With fewer than kFewestSamples the interval is [minimum, maximum], whose confidence is
/// lower: interval_confidence() says which. When a sample is NaN (a ratio that is not defined), all three are NaN.
/// Throws Error{invalid_argument} without samples.
Estimate estimate(std::span<const double> samples);

/// The k above, from 1 (the smallest sample); 1 for n < kFewestSamples.
std::size_t interval_order(std::size_t n);
/// The confidence that [x_(k), x_(n+1-k)] covers the median, k = interval_order(n): >= 0.95 for n >= kFewestSamples.
double interval_confidence(std::size_t n);

/// The `percent`-th percentile (0 to 100), interpolated linearly between the two nearest samples (type 7 of Hyndman and
/// Fan, 1996). NaN when a sample is. Throws Error{invalid_argument} without samples or with a percentage out of range.
double percentile(std::span<const double> samples, double percent);

}  // namespace rollcall::bench
