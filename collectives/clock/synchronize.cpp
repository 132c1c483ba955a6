// Hierarchical clock synchronisation. S. Hunold and A. Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018,
// algorithm HCA3, with the hosts as the one level that is measured: ranks of one host share its clock, and so its model.
//
// Idea: in a binomial tree of hosts a child asks its parent again and again what time it is; the parent, which was synchronised
// before, answers in the time of rank 0. So a child's model leads to the clock of rank 0 at once, and nothing is added up
// afterwards. After ceil(log2 hosts) rounds of one window each everybody is synchronised.
//
// Example, 4 hosts: round 0: 1 asks 0; round 1: 2 asks 0, 3 asks 1.
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

// Points of the line that is fitted: one from each such part of the window.
constexpr Nanoseconds kPoints = 50;
// Questions to ask at least, where round trips are long against the window.
constexpr std::uint64_t kFewestQuestions = 20;

struct Question {
    bool last = false;
};
struct Answer {
    Nanoseconds time = 0;   ///< When the question came, in the time of rank 0.
    Nanoseconds error = 0;  ///< Of the answering rank's own clock.
};

template <class Record>
transport::Bytes record_bytes(Record& record) {
    return {&record, sizeof record};
}

// Clocks that are being adjusted go so far apart, and not further.
constexpr double kMostDrift = 1e-3;
// What two synchronisations say must not be further from what was seen in the window of the last: else a clock stood still or jumped
// in between, as that of a host that was suspended. Rarer than that is chance.
constexpr double kDeviations = 6;

// Over a long time two offsets tell the drift better than all those of one window.
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
        if (number == 0) {  // the parent may have come late, and the connection is made now
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
    constexpr std::uint64_t kResult = 0;  // of others than questions and answers, which go between hosts
    ClockSynchronization& here = *op.arguments().clocks;
    here.clock = {};
    HostTreePlace place = host_tree(here.hosts, op.rank());
    if (place.hosts.parent >= 0) co_await learn(op, place.hosts.parent, here);
    for (const int child : place.hosts.children) co_await teach(op, child, here);
    co_await relay(op, record_bytes(here.clock), place.within.parent, std::move(place.within.children), 0, kResult);
}

}  // namespace rollcall::collectives
