/// \file
/// Scenarios of processes that are in several jobs. Each of the further jobs has one rank.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

Embedding alone() {
    Embedding embedding;
    embedding.rank = 0;
    embedding.size = 1;
    embedding.unique_id = make_unique_id();
    return embedding;
}

/// A job that ends in the destructor of a static object. It was registered before main(), and so before all that a job makes.
struct StaticJob {
    std::optional<Job> job;
    Request request;
    bool finalizes = false;
    ~StaticJob() {
        if (!job) return;
        if (finalizes) try {
                job->finalize();
            } catch (const std::exception& error) {
                fmt::print("the static job: {}\n", error.what());
            }
        job.reset();
        request = {};
        fmt::print("the static job has ended\n");
        std::fflush(stdout);
    }
};
StaticJob kept_job;

}  // namespace

// Two jobs are left while a receive is under way in each. The log has a warning of each job.
ROLLCALL_SCENARIO(jobs_in_the_log) {
    int value = 0;
    for (int i = 0; i < 2; ++i) {
        Request receive;
        Job job(alone());
        receive = job.world().start_receive(value, 0, 1);
    }
}

// A thread that waits for requests of two jobs would not be woken by one of them.
ROLLCALL_SCENARIO(wait_any_of_two_jobs) {
    Job other(alone());
    int mine = 0, its = 0;
    for (const bool other_first : {false, true}) {
        std::array<Request, 3> requests;
        requests[other_first ? 0 : 2] = other.world().start_receive(its, 0, 1);
        requests[other_first ? 2 : 0] = scene.world.start_receive(mine, scene.rank, 1);
        const Error error =
            expect_error(ErrorCode::invalid_argument, "requests of two jobs", [&] { Request::wait_any(requests, kPatience); });
        check(says(error, "different jobs"), "it says '{}'", error.what());
        other.world().send(3, 0, 1);
        scene.world.send(4, scene.rank, 1);
        Request::wait_all(requests, kPatience);
        check(its == 3 && mine == 4, "the requests brought {} and {}", its, mine);
    }
}

// Job() shares a job that was joined by an Embedding, whichever of those that the process has joined are left.
ROLLCALL_SCENARIO(shares_embedded_jobs) {
    scene.job.finalize();  // It was joined by another starter, and would be shared.
    const auto shares = [](const Job& job, const char* when) {
        const Job part;
        check(part.started_by() == job.started_by(), "{}, Job() was started by {}", when, part.started_by());
        check(part.world().name() != job.world().name(), "it has the same world");
    };
    Job first(alone());
    {
        Job second(alone());
        shares(first, "beside two jobs");
        first.finalize();
        shares(second, "after the end of the first of two jobs");
        second.finalize();
    }
    auto job = std::make_unique<Job>(alone());
    shares(*job, "after both");
    job->finalize();
    job = std::make_unique<Job>(alone());
    shares(*job, "in place of a job that has ended");

    const auto share_in_a_child = [&] {
        const pid_t child = ::fork();
        check(child >= 0, "there is no child");
        if (child == 0) {
            ::alarm(20);
            try {
                Job own(alone());
                shares(own, "in a child");
                own.finalize();
                ::_exit(0);
            } catch (const std::exception& error) {
                fmt::print("in a child: {}\n", error.what());
                std::fflush(stdout);
                ::_exit(1);
            }
        }
        int status = 0;
        check(::waitpid(child, &status, 0) == child && status == 0, "the child ended with {}", status);
    };
    if (!kSanitized) share_in_a_child();  // the thread sanitizer allows no threads in a child

    // A thread that calls Job() meanwhile waits for the Embedding.
    job.reset();
    std::atomic<int> stage{0};
    std::string started_by;
    std::thread thread([&] {
        while (stage.load() == 0) sleep_us(100);
        stage = 2;
        try {
            const Job part;
            started_by = part.started_by();
        } catch (const std::exception& error) {
            started_by = error.what();
        }
        stage = 3;
    });
    Embedding embedding = alone();
    embedding.unique_id.reset();
    embedding.allgather = [&](std::span<const std::byte> mine, std::span<std::byte> all) {
        stage = 1;
        while (stage.load() < 2) sleep_us(100);
        sleep_us(20'000);  // It is in its call.
        std::copy(mine.begin(), mine.end(), all.begin());
    };
    Job embedded(embedding);
    while (stage.load() < 3) sleep_us(100);
    thread.join();
    check(started_by == embedded.started_by(), "Job() beside an Embedding: {}", started_by);
}

// Two threads of this process are the ranks of another job.
ROLLCALL_SCENARIO(ranks_of_one_process) {
    const UniqueId id = make_unique_id();
    std::exception_ptr wrong[2];
    const auto play = [&](int rank) {
        try {
            Embedding embedding;
            embedding.rank = rank;
            embedding.size = 2;
            embedding.unique_id = id;
            Job job(embedding);
            for (const std::size_t count : {1, 100, 1'000, 100'000}) {
                std::vector<int> data(count, rank == 1 ? 7 : 0), sums(count);
                job.world().broadcast(data, 1, {.timeout = kPatience});
                check(data == std::vector(count, 7), "a broadcast of {} elements to a thread", count);
                job.world().allreduce(std::vector(count, rank + 1), sums, sum, {.timeout = kPatience});
                check(sums == std::vector(count, 3), "an allreduce of {} elements of two threads", count);
            }
            job.finalize();
        } catch (...) {
            wrong[rank] = std::current_exception();
        }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    for (const std::exception_ptr& each : wrong)
        if (each) std::rethrow_exception(each);
}

// Threads wait while their job ends, and are woken. Words: "finalizes" (nothing is under way), or "leaves" (by the destructor).
ROLLCALL_SCENARIO(waits_while_the_job_ends) {
    auto job = std::make_unique<Job>(alone());
    const Communicator world = job->world();
    CompletionQueue empty(world);
    std::vector<std::function<void()>> waits;
    waits.emplace_back([&] { check(!empty.next_for(kForever), "an empty queue gave a completion"); });
    const auto told = [](const char* what, const std::function<void()>& call) {
        const Error error = expect_error(ErrorCode::state, what, call);
        // A call that comes after the end is told in other words.
        check(says(error, "the job has ended") || says(error, "the job was finalized"), "{} says '{}'", what, error.what());
    };
    int values[6] = {};
    Request requests[3];
    CompletionQueue queue(world);
    if (scene.word(0) == "leaves") {
        for (int i = 0; i < 3; ++i) requests[i] = world.start_receive(values[i], 0, static_cast<Tag>(i));
        queue.add(world.start_receive(values[3], 0, 3));
        waits.emplace_back([&] { told("a wait", [&] { requests[0].wait(); }); });
        waits.emplace_back([&] { told("a wait with a time", [&] { requests[1].wait_for(kPatience * 10); }); });
        waits.emplace_back([&] { told("wait_any", [&] { requests[2 + Request::wait_any(std::span(requests).last(1))].wait(); }); });
        waits.emplace_back([&] {
            told("a queue", [&] {
                const Completion completion = queue.next();
                if (completion.error) throw Error(*completion.error);
            });
        });
        waits.emplace_back([&] { told("a receive", [&] { world.receive(values[4], 0, 4); }); });
        waits.emplace_back([&] { told("a question", [&] { world.next_size(0, 5); }); });
    }
    std::atomic<std::size_t> begun{0};
    std::vector<std::exception_ptr> wrong(waits.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < waits.size(); ++i)
        threads.emplace_back([&, i] {
            ++begun;
            try {
                waits[i]();
            } catch (...) {
                wrong[i] = std::current_exception();
            }
        });
    while (begun.load() < waits.size()) sleep_us(100);
    sleep_us(20'000);  // Most of them sleep now. If one does not yet, it is told as well.
    if (scene.word(0) == "finalizes")
        job->finalize();
    else
        job.reset();
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : wrong)
        if (error) std::rethrow_exception(error);
}

// The same in a job of several ranks, with a queue that is empty and one whose last request has just been taken.
ROLLCALL_SCENARIO(queues_wait_while_the_job_ends) {
    CompletionQueue empty(scene.world), used(scene.world);
    int value = 0;
    used.add(scene.world.start_receive(value, scene.previous()));
    std::atomic<int> taken{0};
    std::thread first([&] { taken += empty.next_for(kForever).has_value(); });
    std::thread second([&] {
        while (used.next_for(kForever)) ++taken;
    });
    scene.world.send(scene.rank, scene.next());
    while (taken.load() == 0) sleep_us(100);
    scene.job.finalize();
    first.join();
    second.join();
    check(taken.load() == 1 && value == scene.previous(), "the queues gave {} completions", taken.load());
}

// A part of the program makes its Job on one rank only.
ROLLCALL_SCENARIO(a_part_of_one_rank) {
    scene.world.barrier();
    const Error error = expect_error(ErrorCode::mismatch, "a Job that the other rank does not make", [&] {
        if (scene.rank == 0) {
            const Job part;
        } else {
            int value = 1;
            scene.world.allreduce(value, rollcall::sum);
        }
    });
    check(says(error, "rank 0 called Job(), rank 1 called allreduce("), "it says '{}'", error.what());
}

// Words: "finalizes", or "leaves" with a request under way, which is logged.
ROLLCALL_SCENARIO(static_job) {
    kept_job.finalizes = scene.word(0) == "finalizes";
    kept_job.job.emplace(alone());
    static int value = 0;
    if (!kept_job.finalizes) kept_job.request = kept_job.job->world().start_receive(value, 0, 1);
}

}  // namespace rollcall::test
