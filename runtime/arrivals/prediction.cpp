// Predicts arrivals from compute phases. Source: J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and
// gather operations", Cluster Computing 2020, section 3 (PAT_Edge). The averages over earlier phases follow P. Marendic et al., "A novel
// MPI reduction algorithm resilient to imbalances in process arrival times", 2016.
//
// Idea: if the fraction x of a phase took the time e, the whole phase takes e/x. Or: the phase takes as long as earlier phases did.
//
// Example: a phase begins at time 10, and half of it (edge 0.5) is done at time 16. The half took 6, so the phase ends at 10 + 6/0.5 = 22.
#include "runtime/arrivals/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::runtime {
namespace {
constexpr double kNewest = 0.25;  // Weight of the newest phase in the exponential average.
}  // namespace

Nanoseconds ArrivalPredictor::typical() const noexcept {
    switch (kind_) {
        case Predictor::edge_linear: break;
        case Predictor::last: return durations_[(phases_ - 1) % kAveraged];
        case Predictor::moving_average: {
            const std::size_t known = std::min(phases_, kAveraged);
            const auto end = durations_.begin() + static_cast<std::ptrdiff_t>(known);
            return std::accumulate(durations_.begin(), end, Nanoseconds{0}) / static_cast<Nanoseconds>(known);
        }
        case Predictor::exponential: return std::llround(smoothed_);
    }
    return kUnknownTime;
}

void ArrivalPredictor::begin(Nanoseconds now) noexcept {
    begun_ = now;
    predicted_ = kind_ == Predictor::edge_linear || phases_ == 0 ? kUnknownTime : now + typical();
}

void ArrivalPredictor::edge(double fraction, Nanoseconds now) noexcept {
    // A predictor that averages over earlier phases has already made its prediction in begin().
    if (kind_ != Predictor::edge_linear && phases_ > 0) return;
    // A phase that seems to last longer than this lasts this long.
    constexpr double kLongest = 1e18;  // 32 years
    predicted_ = begun_ + std::llround(std::min(static_cast<double>(now - begun_) / fraction, kLongest));
}

void ArrivalPredictor::end(Nanoseconds now) noexcept {
    const Nanoseconds duration = now - begun_;
    smoothed_ = phases_ == 0 ? static_cast<double>(duration) : smoothed_ + kNewest * (static_cast<double>(duration) - smoothed_);
    durations_[phases_++ % kAveraged] = duration;
    begun_ = kUnknownTime;
}

}  // namespace rollcall::runtime
