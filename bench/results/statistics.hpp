/// \file
/// Medians and their confidence intervals. They make no assumption about the distribution of the samples.
#pragma once

#include <cstddef>
#include <span>

namespace rollcall::bench {

/// A median and the ends of its 95 % confidence interval, in the unit of the samples.
struct Estimate {
    double median = 0;
    double low = 0;
    double high = 0;

    bool operator==(const Estimate&) const = default;
};

/// The smallest number of samples whose whole range covers the median with 95 %: 1 - 2 * 0.5^6 = 0.969, while five samples give 0.9375.
inline constexpr std::size_t kFewestSamples = 6;

/// Returns the median, and the narrowest symmetric interval [x_(k), x_(n+1-k)] of order statistics that covers the median of the
/// distribution with at least 95 %. k is the largest number with P(Binomial(n, 1/2) < k) <= 0.025. The interval is exact for independent
/// samples of any distribution. With fewer than kFewestSamples samples the interval is [minimum, maximum]. Its confidence is then lower;
/// interval_confidence() returns it. If a sample is NaN (an undefined ratio), all three numbers are NaN. Throws Error{invalid_argument} if
/// there are no samples.
Estimate estimate(std::span<const double> samples);

/// Whether the samples of something that ought to be the same each time differ too much: the upper quartile is more than kUnsteady times
/// the lower one. Errors as in percentile().
bool is_unsteady(std::span<const double> samples);
inline constexpr double kUnsteady = 3;

/// Returns the mean in the place of the median, with its 95 % interval by Student's t. The interval supposes that the mean is normally
/// distributed, which it nearly is if there are many samples. One sample has no interval: both ends are the mean. NaN and errors as in
/// estimate().
Estimate estimate_mean(std::span<const double> samples);
/// Returns the mean of the numerators divided by the mean of the denominators, which come in pairs, with its 95 % interval. It is that of
/// the mean of the residuals (x - ratio * y) / mean(y), so what is the same in both of a pair cancels (Fieller's and the delta method agree
/// where the interval is narrow). Throws Error{invalid_argument} if there are no pairs, or different numbers of both.
Estimate estimate_ratio_of_means(std::span<const double> numerators, std::span<const double> denominators);

/// Returns the k of estimate(), from 1 (the smallest sample). It is 1 for n < kFewestSamples.
std::size_t interval_order(std::size_t n);
/// Returns the confidence with which [x_(k), x_(n+1-k)], k = interval_order(n), covers the median. It is >= 0.95 for n >= kFewestSamples.
double interval_confidence(std::size_t n);

/// Returns the `percent`-th percentile (0 to 100), interpolated linearly between the two nearest samples (type 7 of Hyndman and Fan, 1996).
/// The result is NaN if a sample is NaN. Throws Error{invalid_argument} if there are no samples or the percentage is out of range.
double percentile(std::span<const double> samples, double percent);

}  // namespace rollcall::bench
