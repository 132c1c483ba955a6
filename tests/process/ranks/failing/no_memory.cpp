/// \file
/// Scenarios in which one allocation of a rank fails.
#include <cstdlib>
#include <new>
#include <numeric>
#include <optional>

#include "tests/process/ranks/scene.hpp"

namespace {

/// How many allocations of this thread succeed before one fails. Negative: none fails.
thread_local long allocations_left = -1;

}  // namespace

// The address and thread sanitizers have an operator new of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ROLLCALL_TEST_SANITIZED
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(ROLLCALL_TEST_SANITIZED)
void* operator new(std::size_t bytes) {
    if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
    if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace rollcall::test {

// An allocation of rank 1 fails while all ranks make a communicator, each allocation in turn. Rank 1 calls again if it ran out of memory.
// No rank waits for ever, or gets anything but a communicator or an error. The words: which call, and how many allocations fail in turn.
ROLLCALL_SCENARIO(no_memory_for_a_communicator) {
    const std::string call = scene.word(0);
    std::vector<int> ranks(static_cast<std::size_t>(scene.size));
    std::iota(ranks.begin(), ranks.end(), 0);
    int failed = 0;
    for (int allocation = 0; allocation < scene.number(1, 40); ++allocation) {
        Communicator from = scene.world.duplicate();
        std::optional<Communicator> made;
        const auto make = [&] {
            try {
                if (scene.rank == 1) allocations_left = allocation;
                if (call == "intercommunicator")
                    made = from.create_intercommunicator(std::span(ranks).first(1), std::span(ranks).subspan(1)).merge();
                else
                    made = call == "create" ? from.create(ranks) : call == "split" ? from.split(0, scene.rank) : from.duplicate();
                allocations_left = -1;
            } catch (const std::bad_alloc&) {
                allocations_left = -1;
                check(scene.rank == 1, "another rank has no memory");
                return false;
            } catch (const Error& error) {
                allocations_left = -1;
                check(error.code() != ErrorCode::timeout, "{} with allocation {} waits in vain: {}", call, allocation, error.what());
                ++failed;
            }
            return true;
        };
        if (!make()) make();
        if (made) try {
                int value = scene.rank == 0 ? allocation : -1;
                made->broadcast(value, 0);
                check(value == allocation, "a broadcast gave {}", value);
            } catch (const Error& error) {  // another rank could not make it
                check(error.code() != ErrorCode::timeout, "a broadcast after {} waits in vain: {}", call, error.what());
            }
        made.reset();
        from = {};
        scene.world.barrier();
    }
    fmt::print("rank {}: {} of the calls failed\n", scene.rank, failed);
}

// One allocation of rank 1 fails in finalize(): the one after as many as the word says. The job is left all the same, so the other ranks do
// not wait for it, although its process goes on.
ROLLCALL_SCENARIO(no_memory_at_the_end) {
    scene.world.barrier();
    if (scene.rank != 1) {
        try {
            scene.job.finalize();
        } catch (const Error& error) {
            check(error.code() != ErrorCode::timeout, "the end waits in vain: {}", error.what());
        }
        scene.at(0).fetch_add(1);
        return;
    }
    try {
        allocations_left = scene.number(0, 0);
        scene.job.finalize();
        allocations_left = -1;
        fmt::print("no allocation failed\n");
    } catch (const std::bad_alloc&) {
        allocations_left = -1;
        fmt::print("an allocation failed\n");
    } catch (const Error& error) {
        allocations_left = -1;
        fmt::print("finalize() failed: {}\n", error.what());
    }
    scene.await(0, static_cast<std::uint64_t>(scene.size - 1));
    scene.job.finalize();  // there is nothing left to do
    expect_error(ErrorCode::state, "a barrier after that", [&] { scene.world.barrier(); });
}

}  // namespace rollcall::test
