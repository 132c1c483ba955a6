/// \file
/// What one clock shows when another shows a certain time: pure functions.
#pragma once

#include <cmath>

#include <rollcall/time.hpp>

namespace rollcall::runtime {

/// A line from the times of one clock to those of another: to = from + offset + drift * (from - reference). Only the small
/// last part is floating point, so that times stay exact to a nanosecond for years. Drifts of real clocks are below 1e-4.
struct ClockModel {
    Nanoseconds reference = 0;  ///< Where the offset is as given.
    Nanoseconds offset = 0;
    double drift = 0;  ///< Nanoseconds by which the other clock gains in each nanosecond.

    Nanoseconds at(Nanoseconds from) const noexcept { return from + offset + std::llround(drift * static_cast<double>(from - reference)); }
    bool is_identity() const noexcept { return offset == 0 && drift == 0; }
    bool operator==(const ClockModel&) const = default;
};

/// The way back. at() of one after at() of the other gives the same time, to a nanosecond.
inline ClockModel inverse(const ClockModel& model) noexcept {
    return {model.reference + model.offset, -model.offset, -model.drift / (1 + model.drift)};
}

/// `then` after `first`.
inline ClockModel compose(const ClockModel& first, const ClockModel& then) noexcept {
    const Nanoseconds between = first.reference + first.offset;
    return {first.reference, then.at(between) - first.reference, first.drift + then.drift + first.drift * then.drift};
}

/// The line through what `earlier` and `later` say at their references, which must not be the same.
inline ClockModel line_through(const ClockModel& earlier, const ClockModel& later) noexcept {
    return {later.reference, later.offset,
            static_cast<double>(later.offset - earlier.offset) / static_cast<double>(later.reference - earlier.reference)};
}

}  // namespace rollcall::runtime
