// Hierarchical clock synchronisation. S. Hunold and A. Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018, algorithm
// HCA3, with the hosts as the only level that is measured: the ranks of one host share its clock, and so its model.
//
// Idea: in a binomial tree of hosts, a child asks its parent again and again what time it is. The parent, which was synchronised before,
// answers in the time of rank 0. So the child's model leads directly to the clock of rank 0, and nothing has to be added up afterwards.
// After ceil(log2 hosts) rounds of one window each, all hosts are synchronised.
//
// Example: 4 hosts. Round 0: 1 asks 0. Round 1: 2 asks 0, 3 asks 1.
#include "collectives/clock/synchronize.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/relay.hpp"
#include "collectives/trees/hosts.hpp"
#include "runtime/clock/fit.hpp"

namespace rollcall::collectives {
namespace {

using runtime::ClockSynchronization;
using runtime::SynchronizedClock;

// The number of points through which the line is fitted. The window is cut into as many parts, and each part gives one point.
constexpr Nanoseconds kPoints = 50;
// The smallest number of questions. It matters where round trips are long compared with the window.
constexpr std::uint64_t kFewestQuestions = 20;

struct Question {
    bool last = false;
};
struct Answer {
    Nanoseconds time = 0;   ///< The time of rank 0 at which the question came.
    Nanoseconds error = 0;  ///< The error of the answering rank's own clock.
};

template <class Record>
transport::Bytes record_bytes(Record& record) {
    return {&record, sizeof record};
}

// The largest drift between two clocks. Clocks that are being adjusted reach this value, and do not exceed it.
constexpr double kMostDrift = 1e-3;
// The drift that follows from two synchronisations may differ from the drift seen in the window of the last one by at most so many standard
// deviations. A larger difference means that a clock stood still or jumped in between, as on a host that was suspended; it is very unlikely
// to be chance.
constexpr double kDeviations = 6;

// Over a long time, two offsets give the drift more precisely than all offsets of one window.
void refine(SynchronizedClock& clock, double drift_deviation, const SynchronizedClock& previous) {
    const Nanoseconds elapsed = clock.model.reference - previous.model.reference;
    if (elapsed <= 0) return;
    if (static_cast<double>(clock.error + previous.error) / static_cast<double>(elapsed) >= drift_deviation) return;
    const runtime::ClockModel line = line_through(previous.model, clock.model);
    if (std::abs(line.drift) > kMostDrift || std::abs(line.drift - clock.model.drift) > kDeviations * drift_deviation) return;
    clock.model = line;
}

Task learn(Operation& op, int parent, ClockSynchronization& here) {
    runtime::BestSamples best(std::max<Nanoseconds>(1, here.window / kPoints));
    Question question;
    Answer answer;
    Nanoseconds begun = 0;
    for (std::uint64_t number = 0; !question.last; ++number) {
        question.last = number >= kFewestQuestions && op.host_time() - begun >= here.window;
        const Pending answering = op.receive(parent, record_bytes(answer), number);
        const Nanoseconds sent = op.host_time();
        const Pending asking = op.send(parent, record_bytes(question), number);
        co_await answering;
        const Nanoseconds received = op.host_time();
        co_await asking;
        if (number == 0) {  // not used: the parent may have arrived late, and the connection is made now
            begun = received;
            continue;
        }
        const Nanoseconds middle = sent + (received - sent) / 2;
        best.add({middle, answer.time - middle, received - sent});
    }
    const runtime::ClockFit fit = runtime::fit(best.samples());
    here.clock = {fit.model, answer.error + fit.round_trip};
    if (here.previous) refine(here.clock, fit.drift_deviation, *here.previous);
}

Task teach(Operation& op, int child, const ClockSynchronization& here) {
    Question question;
    Answer answer;
    answer.error = here.clock.error;
    for (std::uint64_t number = 0; !question.last; ++number) {
        co_await op.receive(child, record_bytes(question), number);
        answer.time = here.clock.model.at(op.host_time());
        co_await op.send(child, record_bytes(answer), number);
    }
}

}  // namespace

Task synchronize_clocks(Operation& op) {
    constexpr std::uint64_t kResult = 0;  // within a host; questions and answers go between hosts
    ClockSynchronization& here = *op.arguments().clocks;
    here.clock = {};
    HostTreePlace place = host_tree(here.hosts, op.rank());
    if (place.hosts.parent >= 0) co_await learn(op, place.hosts.parent, here);
    for (const int child : place.hosts.children) co_await teach(op, child, here);
    co_await relay(op, record_bytes(here.clock), place.within.parent, std::move(place.within.children), 0, kResult);
}

}  // namespace rollcall::collectives
