/// \file
/// Scenarios of processes that are in several jobs. Each of the further jobs has one rank.
#include <array>
#include <cstdio>
#include <memory>
#include <optional>

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

// Words: "finalizes", or "leaves" with a request under way, which is logged.
ROLLCALL_SCENARIO(static_job) {
    kept_job.finalizes = scene.word(0) == "finalizes";
    kept_job.job.emplace(alone());
    static int value = 0;
    if (!kept_job.finalizes) kept_job.request = kept_job.job->world().start_receive(value, 0, 1);
}

}  // namespace rollcall::test
