// This file is compiled once for each kind of processor. At run time, the kind that has the widest vectors of the processor is chosen.
// Functions of the standard library must not be instantiated in the part that is compiled repeatedly: the linker keeps one of the copies,
// which may be for the wrong processor.
#include "collectives/trees/splits.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/trees/splits.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rollcall::collectives {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <Sent sent>
struct Step {
    // The same function for one split and for as many as fit into a vector: hn::CappedTag<double, 1> is for one.
    template <class D, class V = hn::Vec<D>>
    static HWY_INLINE V cost(D d, const Splits& splits, std::size_t at) {
        const V sum = hn::LoadU(d, splits.sums + at);
        const V left = hn::Sub(sum, hn::Set(d, splits.before)), right = hn::Sub(hn::Set(d, splits.end), sum);
        const V size = sent == Sent::left ? left : sent == Sent::right ? right : hn::Min(left, right);
        const V transfer = hn::Add(hn::Set(d, splits.alpha), hn::Mul(hn::Set(d, splits.beta), size));
        const V paid = hn::IfThenElseZero(hn::Gt(size, hn::Zero(d)), transfer);
        return hn::Add(hn::Max(hn::LoadU(d, splits.left + at), hn::LoadU(d, splits.right + at)), paid);
    }
};

template <Sent sent>
double best(const Splits& splits) {
    const hn::ScalableTag<double> wide;
    const std::size_t lanes = hn::Lanes(wide);
    double least = __builtin_inf();
    std::size_t at = 0;
    if (splits.count >= lanes) {
        auto one = hn::Set(wide, least), other = one;
        for (; at + 2 * lanes <= splits.count; at += 2 * lanes) {
            one = hn::Min(one, Step<sent>::cost(wide, splits, at));
            other = hn::Min(other, Step<sent>::cost(wide, splits, at + lanes));
        }
        one = hn::Min(one, other);
        // The last vector overlaps splits that are done already, so that it is full.
        for (; at < splits.count; at += lanes) {
            const std::size_t last = splits.count - lanes;
            one = hn::Min(one, Step<sent>::cost(wide, splits, at < last ? at : last));
        }
        return hn::GetLane(hn::MinOfLanes(wide, one));
    }
    const hn::CappedTag<double, 1> narrow;
    for (; at < splits.count; ++at) {
        const double cost = hn::GetLane(Step<sent>::cost(narrow, splits, at));
        if (cost < least) least = cost;
    }
    return least;
}

double best_sending_left(const Splits& splits) { return best<Sent::left>(splits); }
double best_sending_right(const Splits& splits) { return best<Sent::right>(splits); }
double best_sending_smaller(const Splits& splits) { return best<Sent::smaller>(splits); }

}  // namespace HWY_NAMESPACE
}  // namespace rollcall::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/vectors/targets.hpp"

namespace rollcall::collectives {

double best_split(const Splits& splits, Sent sent) {
    switch (sent) {
        case Sent::left: return ROLLCALL_BEST_TARGET(best_sending_left)(splits);
        case Sent::right: return ROLLCALL_BEST_TARGET(best_sending_right)(splits);
        case Sent::smaller: return ROLLCALL_BEST_TARGET(best_sending_smaller)(splits);
    }
    __builtin_unreachable();
}

}  // namespace rollcall::collectives
#endif
