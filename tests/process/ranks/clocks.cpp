/// \file
/// Scenarios of common time. ROLLCALL_TEST_CLOCKS assigns the ranks to hosts, and says by how much the clock of each host is wrong.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "foundation/clock.hpp"
#include "runtime/clock/host_clock.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

// Another process on the same cores may spoil a measurement, but not all of these attempts.
constexpr int kAttempts = 10;
constexpr Nanoseconds kSecond = 1'000'000'000;

// Returns what the (wrong) clock of this rank's host shows at that time.
Nanoseconds shown(const Scene& scene, int world_rank, Nanoseconds real) {
    return runtime::test_clock(world_rank, scene.job.size()).model.at(real);
}
// Returns by how much this rank's job time is wrong.
Nanoseconds off(const Scene& scene, Nanoseconds real) { return std::abs(scene.job.time_at(real) - shown(scene, 0, real)); }

bool on_host_of_rank_0(const Scene& scene) {
    return runtime::test_clock(scene.rank, scene.size).number == runtime::test_clock(0, scene.size).number;
}
// Returns whether job time is the time of this rank's host.
bool is_own(const Scene& scene) {
    const Nanoseconds real = monotonic_now();
    return scene.job.time_at(real) == shown(scene, scene.rank, real);
}

// Expects the same value on all ranks.
template <class Value>
std::vector<Value> all_of(const Communicator& communicator, const Value& mine) {
    std::vector<Value> all(static_cast<std::size_t>(communicator.size()));
    communicator.gather(std::span(&mine, 1), all, 0);
    communicator.broadcast(std::span(all), 0);
    return all;
}
Nanoseconds greatest(const Communicator& communicator, Nanoseconds mine) {
    const auto all = all_of(communicator, mine);
    return *std::max_element(all.begin(), all.end());
}

void check_way_back(const Scene& scene) {
    for (const Nanoseconds real : {monotonic_now(), monotonic_now() + 1000 * kSecond})
        check(std::abs(scene.job.local_time_at(scene.job.time_at(real)) - real) <= 2, "the way back from job time ends elsewhere");
}

}  // namespace

ROLLCALL_SCENARIO(own_clocks) { check(is_own(scene), "job time is not the host's own at first"); }

// Clocks agree within the promised bound, however late messages are, and in at least one of some attempts within the bound in the words.
// Words: that bound (us), the window (ms).
ROLLCALL_SCENARIO(clocks) {
    const Nanoseconds bound = scene.number(0, 0) * 1000;
    const bool elsewhere = !on_host_of_rank_0(scene);
    Nanoseconds best = kSecond, later = 0;
    for (int attempt = 0; attempt < kAttempts && best > bound; ++attempt) {
        const Nanoseconds begin = monotonic_now();
        const Nanoseconds promised = scene.job.synchronize_clocks(std::chrono::milliseconds(scene.number(1, 30)));
        const Nanoseconds now = monotonic_now();
        check((promised > 0) == elsewhere, "the error is {} ns", promised);
        // 300 ppm covers the drift of the clocks and errors in the measured drift.
        const auto drifts = [](Nanoseconds time) { return time * 3 / 10'000; };
        check(off(scene, now) <= promised + drifts(now - begin), "it is {} ns off instead of {} ns", off(scene, now), promised);
        check(off(scene, now + 10 * kSecond) <= promised + drifts(now + 10 * kSecond - begin), "it is {} ns off ten seconds later",
              off(scene, now + 10 * kSecond));
        check_way_back(scene);
        const Nanoseconds worst = greatest(scene.world, off(scene, now));
        const Nanoseconds worst_promised = greatest(scene.world, promised);
        later = greatest(scene.world, off(scene, now + 10 * kSecond));
        if (scene.rank == 0)
            fmt::print("clocks are {:.1f} us apart, {:.1f} us ten seconds later; promised: {:.1f} us; took {:.1f} ms\n",
                       static_cast<double>(worst) * 1e-3, static_cast<double>(later) * 1e-3, static_cast<double>(worst_promised) * 1e-3,
                       static_cast<double>(now - begin) * 1e-6);
        best = std::min(best, worst);
    }
    check(best <= bound, "clocks are {} ns apart", best);
    const Nanoseconds before = scene.job.time();
    check(scene.job.time() >= before, "job time goes back");
}

// On one host, nothing is measured and nothing is converted.
ROLLCALL_SCENARIO(one_clock) {
    check(scene.job.synchronize_clocks() == 0, "there is an error");
    const Nanoseconds before = monotonic_now(), time = scene.job.time();
    check(before <= time && time <= monotonic_now(), "job time is not that of the host");
    check(scene.job.time_at(12345) == 12345 && scene.job.local_time_at(12345) == 12345, "a time is converted");
    expect_error(ErrorCode::invalid_argument, "a window of nothing", [&] { scene.job.synchronize_clocks(std::chrono::nanoseconds(0)); });
}

// The first plan synchronises the clocks. A plan on the job's communicator synchronises the job. Plans on other communicators have clocks
// of their own and need no other rank. Words: the bound (us).
ROLLCALL_SCENARIO(clocks_of_plans) {
    const Nanoseconds bound = scene.number(0, 0) * 1000;
    std::vector<int> block(4, scene.rank), all(static_cast<std::size_t>(4 * scene.size));

    // A part of the ranks: half of each host (rank 0 is not in both), at different times.
    const int color = scene.rank % 2;
    const Communicator part = scene.world.split(color, scene.rank);
    sleep_us(20'000 * color);
    const auto record_of = [&](const Communicator& communicator) {
        Plan plan = communicator.plan_gather(std::span(block), all, 0);
        plan.begin();
        plan.edge(0.5);
        plan.run();
        return plan.record();
    };
    // Returns how far the arrival in the record is from the time that the plan's first rank would have recorded. The arrival was between
    // these two moments.
    const auto off_record = [&](const Communicator& communicator) {
        const int reference = communicator.world_rank(0);
        Nanoseconds before = 0, after = 0;
        all.resize(static_cast<std::size_t>(4 * communicator.size()));
        Plan plan = communicator.plan_gather(std::span(block), all, 0);
        plan.begin();
        plan.edge(0.5);
        before = monotonic_now();
        plan.start();
        after = monotonic_now();
        const CallRecord begun = plan.record();
        plan.wait();
        const CallRecord record = plan.record();
        check(begun.arrival == record.arrival && begun.predicted == record.predicted && begun.exit == 0,
              "the record was on another clock while the iteration was under way");
        check(record.arrival <= record.exit && record.predicted != 0, "the record is not in order");
        return std::max(shown(scene, reference, before) - record.arrival, record.arrival - shown(scene, reference, after));
    };
    all.resize(static_cast<std::size_t>(4 * part.size()));
    record_of(part);
    check(is_own(scene), "a plan of some ranks has changed job time");
    // The measurement of a plan is kept. The best of several communicators counts.
    Nanoseconds best = kSecond;
    for (int attempt = 0; attempt < kAttempts && best > bound; ++attempt)
        best = std::min(best, greatest(scene.world, off_record(scene.job.world().split(color, scene.rank))));
    check(best <= bound, "a plan's times are {} ns off on its own communicator", best);

    // The whole job in reverse order. Its rank 0 is the last rank, whose clock counts then.
    const Communicator backwards = scene.world.split(0, -scene.rank);
    all.resize(static_cast<std::size_t>(4 * scene.size));
    record_of(backwards);
    check(is_own(scene), "a plan with another first rank has changed job time");

    all.resize(static_cast<std::size_t>(4 * scene.size));
    record_of(scene.world);
    best = greatest(scene.world, off(scene, monotonic_now()));
    check(best < kSecond / 10, "the first plan of the world has not synchronised it: {} ns", best);
    for (int attempt = 0; attempt < kAttempts && best > bound; ++attempt) {
        scene.job.synchronize_clocks();
        best = std::min(best, greatest(scene.world, off(scene, monotonic_now())));
    }
    check(best <= bound, "job time is {} ns off", best);
    // From then on plans use job time, also plans on parts and on communicators that had clocks of their own.
    for (const Communicator& communicator : {part, backwards, scene.world}) {
        all.resize(static_cast<std::size_t>(4 * communicator.size()));
        const Nanoseconds before = scene.job.time();
        const CallRecord record = record_of(communicator);
        check(record.arrival >= before - 1000 && record.exit <= scene.job.time() + 1000, "the times of a plan are not job time");
    }
    CallRecord record;
    const Nanoseconds before = scene.job.time();
    scene.world.gather(std::span(block), std::span(all).first(static_cast<std::size_t>(4 * scene.size)), 0,
                       {.algorithm = {}, .segment_bytes = {}, .timeout = {}, .record = &record});
    check(record.arrival >= before - 1000 && record.exit <= scene.job.time() + 1000, "the times of a call are not job time");
}

// Ranks of different hosts are served in the order in which they will really come, although their own clocks say the opposite. Each rank is
// a host. The root serves before any rank has come, from predictions alone.
ROLLCALL_SCENARIO(order_by_clocks) {
    struct Seen {
        Nanoseconds predicted, first_data, own_clock;
    };
    constexpr std::size_t kBytes = 300'000;
    std::vector<std::byte> block(kBytes), data(scene.rank == 0 ? kBytes * static_cast<std::size_t>(scene.size) : 0);
    Plan plan = scene.world.plan_scatter(data.data(), block.data(), kBytes, 0,
                                         {.algorithm = "background_sorted_linear", .segment_bytes = {}, .timeout = {}});
    bool in_order = false, tried = false;
    for (int attempt = 0; attempt < kAttempts && !in_order; ++attempt) {
        const std::size_t predicted = 2 * static_cast<std::size_t>(attempt), served = predicted + 1;
        scene.world.barrier();
        plan.begin();
        if (scene.rank > 0) {
            // The last rank will come first.
            sleep_us(20'000 + 40'000 * (scene.size - 1 - scene.rank));
            plan.edge(0.5);
            scene.at(predicted).fetch_add(1);
            scene.await(served);
        } else {
            scene.await(predicted, static_cast<std::uint64_t>(scene.size - 1));
            sleep_us(20'000);  // Over tcp, notices need a moment.
        }
        plan.run();
        if (scene.rank == 0) scene.raise(served);
        const auto real = [&](Nanoseconds time) { return scene.job.local_time_at(time); };
        const CallRecord& record = plan.record();
        const auto all =
            all_of(scene.world, Seen{real(record.predicted), real(record.first_data), shown(scene, scene.rank, real(record.predicted))});
        bool backwards = true, opposite = true, served_backwards = true;
        for (std::size_t rank = 1; rank + 1 < all.size(); ++rank) {
            backwards &= all[rank].predicted > all[rank + 1].predicted;
            opposite &= all[rank].own_clock < all[rank + 1].own_clock;
            served_backwards &= all[rank].first_data > all[rank + 1].first_data;
        }
        if (backwards) check(opposite, "the ranks' own clocks have them in the right order: nothing is tested");
        tried |= backwards;
        in_order = backwards && served_backwards;
    }
    check(tried, "the ranks never predicted what they should have");
    check(in_order, "the ranks were not served in the order in which they would have come");
}

// A rank dies while clocks are synchronised. The others are told and do not hang.
ROLLCALL_SCENARIO(death_in_synchronization) {
    if (scene.rank == scene.size - 1) {
        sleep_us(20'000);
        std::_Exit(7);
    }
    const Error error = expect_error(ErrorCode::peer_failed, "the synchronisation", [&] {
        for (;;) scene.job.synchronize_clocks(std::chrono::seconds(1));
    });
    check(error.failed_rank() == scene.size - 1, "it blames rank {}: {}", error.failed_rank(), error.what());
}

}  // namespace rollcall::test
