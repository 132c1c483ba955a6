/// \file
/// Pure functions for linear clock models: the time of one clock as a function of the time of another.
#pragma once

#include <cmath>

#include <rollcall/time.hpp>

namespace rollcall::runtime {

/// Converts the times of one clock to those of another: to = from + offset + drift * (from - reference). Only the last part is computed in
/// floating point. It is small, so that times are exact to a nanosecond for years. The drifts of real clocks are below 1e-4.
struct ClockModel {
    Nanoseconds reference = 0;  ///< The time at which the offset is exactly `offset`.
    Nanoseconds offset = 0;
    double drift = 0;  ///< The number of nanoseconds that the other clock gains in each nanosecond.

    Nanoseconds at(Nanoseconds from) const noexcept { return from + offset + std::llround(drift * static_cast<double>(from - reference)); }
    bool is_identity() const noexcept { return offset == 0 && drift == 0; }
    bool operator==(const ClockModel&) const = default;
};

/// The inverse conversion. Applying at() of both, one after the other, gives the original time to a nanosecond.
inline ClockModel inverse(const ClockModel& model) noexcept {
    return {model.reference + model.offset, -model.offset, -model.drift / (1 + model.drift)};
}

/// The conversion `first`, followed by `then`.
inline ClockModel compose(const ClockModel& first, const ClockModel& then) noexcept {
    const Nanoseconds between = first.reference + first.offset;
    return {first.reference, then.at(between) - first.reference, first.drift + then.drift + first.drift * then.drift};
}

/// The line through the values that `earlier` and `later` have at their references. The references must differ.
inline ClockModel line_through(const ClockModel& earlier, const ClockModel& later) noexcept {
    return {later.reference, later.offset,
            static_cast<double>(later.offset - earlier.offset) / static_cast<double>(later.reference - earlier.reference)};
}

}  // namespace rollcall::runtime
