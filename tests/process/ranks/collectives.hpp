/// \file
/// Shared by the scenarios of collective operations: broadcasts whose data is checked, delays, and threads.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

using Random = std::mt19937_64;

inline void check_broadcast(const Communicator& communicator, std::uint64_t bytes, int root, std::uint64_t round,
                            const CollectiveOptions& options) {
    std::vector<std::byte> data = communicator.rank() == root ? pattern(bytes, key(root, round)) : std::vector<std::byte>(bytes);
    communicator.broadcast(data.data(), bytes, root, options);
    check_pattern(data.data(), bytes, key(root, round),
                  fmt::format("broadcast {} of {} bytes from {} of {} by {}", round, bytes, root, communicator.size(), options.algorithm));
}

// Sleeps 0 to `most` microseconds, each rank for its own time, and in half of the calls not at all.
inline void delay(Random& own, std::uint64_t most) {
    if (most && own() % 2) sleep_us(static_cast<std::int64_t>(own() % most));
}

inline Random own_random(const Scene& scene, std::uint64_t seed) { return Random(seed * 1009 + static_cast<std::uint64_t>(scene.rank)); }

// Runs work(thread) in that many threads. Reports the first error that a thread finds.
inline void in_threads(int threads, const std::function<void(int)>& work) {
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([&, thread] {
            try {
                work(thread);
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                if (wrong.empty()) wrong = fmt::format("thread {}: {}", thread, error.what());
            }
        });
    for (std::thread& thread : all) thread.join();
    check(wrong.empty(), "{}", wrong);
}

}  // namespace rollcall::test
