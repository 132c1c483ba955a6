// Prediction of arrivals from compute phases. J. Proficz, "Process arrival pattern aware algorithms for acceleration of
// scatter and gather operations", Cluster Computing 2020, section 3 (PAT_Edge); the averages over earlier phases follow
// P. Marendic et al., "A novel MPI reduction algorithm resilient to imbalances in process arrival times", 2016.
//
// Idea: a phase of which the fraction x took e so far will take e/x in all. Or: it will take as long as earlier ones did.
//
// Example: a phase begins at 10, its edge 0.5 is at 16: it took 6 for one half, so it ends at 10 + 6/0.5 = 22.
#include "runtime/arrivals/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::runtime {
namespace {
constexpr double kNewest = 0.25;  // weight of the newest phase in the exponential average
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
    // Who has phases to learn from has predicted at the beginning.
    if (kind_ != Predictor::edge_linear && phases_ > 0) return;
    predicted_ = begun_ + std::llround(static_cast<double>(now - begun_) / fraction);
}

void ArrivalPredictor::end(Nanoseconds now) noexcept {
    const Nanoseconds duration = now - begun_;
    smoothed_ = phases_ == 0 ? static_cast<double>(duration) : smoothed_ + kNewest * (static_cast<double>(duration) - smoothed_);
    durations_[phases_++ % kAveraged] = duration;
    begun_ = kUnknownTime;
}

}  // namespace rollcall::runtime
