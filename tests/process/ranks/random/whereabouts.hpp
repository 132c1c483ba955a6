/// \file
/// For random programs: knows where all ranks are, and says so if a rank does not get on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

/// Where a rank is in a random program. If the rank does not get on for a long time, a thread prints where all ranks are. That is no
/// failure yet: the launcher ends the job later.
class Whereabouts {
  public:
    Whereabouts(const Scene& scene, int thread) : scene_(scene), thread_(thread), guard_([this] { watch(); }) {}
    ~Whereabouts() {
        {
            const std::lock_guard lock(mutex_);
            has_ended_ = true;
        }
        ended_.notify_all();
        guard_.join();
    }
    Whereabouts(const Whereabouts&) = delete;
    Whereabouts& operator=(const Whereabouts&) = delete;

    /// Step number `step` of the program begins.
    void begin(std::uint64_t step) { step_of(scene_.rank).store(step); }
    /// What this rank does from now on.
    void note(const std::string& what) {
        const std::lock_guard lock(mutex_);
        now_ = what;
    }
    /// What this rank waited for is here.
    void get_on() { done_.fetch_add(1); }
    /// Says where all ranks are.
    std::string text() {
        const std::lock_guard lock(mutex_);
        std::string text = fmt::format("    rank {}, seed {}, thread {}, step {}: {}\n    the steps of all ranks:", scene_.rank,
                                       scene_.word(0), thread_, step_of(scene_.rank).load(), now_);
        for (int rank = 0; rank < scene_.size; ++rank) text += fmt::format(" {}", step_of(rank).load());
        return text;
    }

  private:
    static constexpr std::chrono::seconds kSuspicious{kSanitized ? 40 : 20};

    std::atomic<std::uint64_t>& step_of(int rank) const { return scene_.at(static_cast<std::size_t>(thread_ * scene_.size + rank)); }
    void watch() {
        std::uint64_t last = 0;
        auto since = std::chrono::steady_clock::now();
        for (std::unique_lock lock(mutex_); !ended_.wait_for(lock, std::chrono::seconds(1), [&] { return has_ended_; });) {
            const auto now = std::chrono::steady_clock::now();
            if (std::exchange(last, done_.load()) != last) since = now;
            if (now - since < kSuspicious) continue;
            since = now;
            lock.unlock();
            fmt::print("    does not get on:\n{}\n", text());
            std::fflush(stdout);
            lock.lock();
        }
    }

    const Scene& scene_;
    const int thread_;
    std::atomic<std::uint64_t> done_ = 0;
    std::mutex mutex_;  ///< Guards the next three.
    std::condition_variable ended_;
    bool has_ended_ = false;
    std::string now_ = "the beginning";
    std::thread guard_;
};

}  // namespace rollcall::test
