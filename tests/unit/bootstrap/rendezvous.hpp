/// \file
/// For tests of the rendezvous: a job whose ranks are threads of the test. Everything is on loopback.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/rendezvous.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap::rendezvous_test {

constexpr auto kLimit = std::chrono::seconds(20);  // no test comes near it

/// Hands texts from one thread to others.
class Board {
  public:
    void put(std::string text) {
        const std::lock_guard lock(mutex_);
        text_ = std::move(text);
        changed_.notify_all();
    }
    std::string get() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, kLimit, [this] { return !text_.empty(); })) throw std::runtime_error("no invitation came");
        return text_;
    }
    Share share() {
        return [this](std::string mine) {
            if (!mine.empty()) put(std::move(mine));
            return get();
        };
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string text_;
};

inline Blob blob_of(int rank, std::size_t round) {
    std::mt19937 random(static_cast<unsigned>(rank) * 1000u + static_cast<unsigned>(round));
    Blob blob(random() % 5000);
    for (std::byte& byte : blob) byte = static_cast<std::byte>(random());
    return blob;
}

/// A job whose ranks are threads.
struct Crew {
    explicit Crew(int ranks) : size(ranks), errors(static_cast<std::size_t>(ranks)) {
        options.net = "lo";
        options.join_timeout = kLimit;
    }
    using Part = std::function<void(int rank, Rendezvous& rendezvous)>;
    /// Runs `part` in each thread, and keeps the exception of each rank that throws.
    void run(const Part& part) {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { one(rank, part); });
        for (std::thread& thread : threads) thread.join();
    }
    void one(int rank, const Part& part) {
        try {
            RendezvousOptions own = options;
            own.host = fmt::format("host{}", host_of(rank));
            Rendezvous rendezvous("a test", told_rank(rank), told_size(rank), share_of(rank), own);
            part(rank, rendezvous);
        } catch (const Error& error) {
            errors[static_cast<std::size_t>(rank)] = error;
        }
    }
    void expect_no_errors() const {
        for (int rank = 0; rank < size; ++rank) {
            const auto& error = errors[static_cast<std::size_t>(rank)];
            EXPECT_FALSE(error) << "rank " << rank << ": " << error->what();
        }
    }
    int size;
    RendezvousOptions options;
    Board board;
    std::vector<std::optional<Error>> errors;
    std::function<int(int)> host_of = [](int) { return 0; };
    std::function<int(int)> told_rank = [](int rank) { return rank; };
    std::function<int(int)> told_size = [this](int) { return size; };
    std::function<Share(int)> share_of = [this](int) { return board.share(); };
};

/// While an object of this class exists, this process belongs to another user.
struct OtherUser {
    static constexpr uid_t kUser = 65534;
    OtherUser() { EXPECT_EQ(::seteuid(kUser), 0); }
    ~OtherUser() { EXPECT_EQ(::seteuid(0), 0); }
    OtherUser(const OtherUser&) = delete;
    OtherUser& operator=(const OtherUser&) = delete;
};

/// Waits for a notice.
inline std::optional<Notice> notice_of(Rendezvous& rendezvous) {
    const auto until = std::chrono::steady_clock::now() + kLimit;
    while (std::chrono::steady_clock::now() < until) {
        if (auto notice = rendezvous.take_notice()) return notice;
        pollfd entry{rendezvous.notice_descriptor(), POLLIN, 0};
        ::poll(&entry, 1, 100);
    }
    return std::nullopt;
}

/// Lets ranks wait for each other without the rendezvous that is tested.
class Gate {
  public:
    explicit Gate(int ranks) : missing_(ranks) {}
    void pass() {
        std::unique_lock lock(mutex_);
        --missing_;
        changed_.notify_all();
        if (!changed_.wait_for(lock, kLimit, [this] { return missing_ <= 0; }))
            throw Error(ErrorCode::timeout, "a rank did not come to the gate");
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int missing_;
};

inline void expect_peer_failed(Rendezvous& rendezvous, int rank) {
    try {
        rendezvous.barrier({}, kLimit);
        ADD_FAILURE() << "the barrier was passed without rank " << rank;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::peer_failed) << error.what();
        EXPECT_EQ(error.failed_rank(), rank) << error.what();
        EXPECT_TRUE(contains(error.what(), fmt::format("rank {}", rank)));
    }
}

inline void expect_all(const Crew& crew, ErrorCode code, const std::string& part) {
    for (const auto& error : crew.errors) {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), code) << error->what();
        EXPECT_TRUE(contains(error->what(), part));
    }
}

}  // namespace rollcall::bootstrap::rendezvous_test
