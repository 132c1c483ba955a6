/// \file
/// Scenarios of objects that outlive their job.
#include <array>
#include <cstdio>
#include <memory>
#include <span>

#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

/// Work that is done when the process ends, after main() has left the job.
struct AtExit {
    std::function<void()> work;
    ~AtExit() {
        if (work) work();
    }
};

}  // namespace

// Requests, a queue and plans of the first rank outlive its job. To wait for them, or to test them, says that the job has ended.
ROLLCALL_SCENARIO(waits_after_the_end) {
    struct Kept {
        std::array<std::byte, 8> data{};
        std::array<Request, 7> requests;
        Request next;
        std::array<Plan, 2> plans;
        std::unique_ptr<CompletionQueue> queue;
    };
    static Kept kept;
    static AtExit waits;
    for (Plan& plan : kept.plans) plan = scene.world.plan_broadcast(kept.data, 1);
    if (scene.rank != 0) return;
    for (Request& request : kept.requests) request = scene.world.start_receive(kept.data, 1, 1);
    for (Plan& plan : kept.plans) plan.start();
    kept.next = scene.world.start_next_size(1, 1);
    kept.queue = std::make_unique<CompletionQueue>(scene.world);
    kept.queue->add(scene.world.start_receive(kept.data, 1, 1), 7);
    kept.queue->add(scene.world.start_barrier(), 8);
    kept.queue->add(scene.world.start_next_size(1, 1), 9);
    waits.work = [] {
        int told = 0;
        const auto tells = [&](const char* what, const auto& call) {
            try {
                call();
                fmt::print("{} says nothing\n", what);
            } catch (const Error& error) {
                const bool good = error.code() == ErrorCode::state && says(error, "the job has ended");
                told += good;
                if (!good) fmt::print("{} says: {}\n", what, error.what());
            }
        };
        auto& [data, requests, next, plans, queue] = kept;
        tells("wait", [&] { requests[0].wait(); });
        tells("wait with a time", [&] { requests[1].wait(kForever); });
        tells("wait_for", [&] { requests[2].wait_for(kForever); });
        tells("test", [&] { requests[3].test(); });
        tells("wait_any", [&] { requests[4 + Request::wait_any(std::span(requests).subspan(4, 2), kForever)].wait(); });
        tells("wait_all", [&] { Request::wait_all(std::span(requests).first(6), kForever); });
        tells("wait for a message", [&] { next.wait(); });
        for (int i = 0; i < 3; ++i)
            tells("a queue", [&] {
                const Completion completion = queue->next();
                if (completion.error) throw Error(*completion.error);
            });
        tells("a plan", [&] { plans[0].wait(); });
        tells("a plan that was tested", [&] {
            if (plans[1].test()) plans[1].wait();
        });
        tells("a queue that takes a request of a job that has ended", [&] {
            queue->add(std::move(requests[6]), 1);
            const auto completion = queue->next_for(kForever);
            if (completion && completion->error) throw Error(*completion->error);
        });
        fmt::print("told {} times\n", told);
        std::fflush(stdout);
    };
}

// An exception leaves the scope of the job of the last rank, and a communicator outlives that job. The process goes on until the others
// have noticed the death.
ROLLCALL_SCENARIO(gives_up_but_keeps) {
    static Communicator kept;
    static AtExit stays;
    kept = scene.world.duplicate();
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    const int last = scene.size - 1;
    if (scene.rank != last) {
        const Error error = expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
        check(error.failed_rank() == last, "{} was blamed", error.failed_rank());
        scene.at(0).fetch_add(1);
        end_without_the_dead(scene);
        kept = {};
        return;
    }
    stays.work = [&noticed = scene.at(0), others = static_cast<std::uint64_t>(last)] {
        try {
            kept.barrier();
        } catch (const Error& error) {
            fmt::print("kept: {}\n", error.what());
        }
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (noticed.load() < others && std::chrono::steady_clock::now() < until) sleep_us(200);
        fmt::print("{} of {} noticed\n", noticed.load(), others);
        std::fflush(stdout);
        kept = {};
    };
    throw Wrong("giving up, as asked");
}

}  // namespace rollcall::test
