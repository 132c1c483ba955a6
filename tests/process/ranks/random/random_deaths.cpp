#include "tests/process/ranks/random/random_deaths.hpp"

#include <atomic>
#include <bit>
#include <cstdio>
#include <random>
#include <thread>

#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

// Words that all ranks share. The first ones are those of Whereabouts and of deaths.hpp.
constexpr std::size_t kHasDied = 110;
constexpr std::size_t kAllMeet = 112;
constexpr std::size_t kSurvivorsMeet = 113;  // One for each thread.
constexpr std::size_t kQuestions = 128, kMostQuestions = 128;
constexpr std::uint64_t kNo = std::uint64_t{1} << 32;

constexpr std::uint64_t kMostMicroseconds = 4000;

std::atomic<bool> dies = false;

}  // namespace

Ranks ranks_of(const Communicator& communicator) {
    Ranks ranks = 0;
    for (int rank = 0; rank < communicator.size(); ++rank) ranks |= only(communicator.world_rank(rank));
    return ranks;
}
Ranks ranks_of(const Intercommunicator& between) {
    Ranks ranks = ranks_of(between.local());
    for (int rank = 0; rank < between.remote_size(); ++rank) ranks |= only(between.remote_world_rank(rank));
    return ranks;
}

Deaths::Deaths(const Scene& scene, int thread, std::uint64_t seed, std::uint64_t steps, std::string how)
    : scene_(scene), thread_(thread), how_(std::move(how)) {
    std::mt19937_64 random(seed);
    const bool are_two = scene.size > 2 && how_ != "end" && random() % 4 == 0;
    while (std::popcount(victims_) < (are_two ? 2 : 1)) {
        const int rank = static_cast<int>(random() % static_cast<std::uint64_t>(scene.size));
        const std::uint64_t step = random() % 6 == 0 ? 0 : random() % steps;
        const int after = random() % 5 == 0 ? 0 : static_cast<int>(1 + random() % kMostMicroseconds);
        if (victims_ & only(rank)) continue;
        victims_ |= only(rank);
        deaths_.push_back({rank, step, after});
    }
}

void Deaths::die_now(std::size_t number) const {
    if (dies.exchange(true)) sleep_us(60'000'000);  // another thread does
    fmt::print("rank {} dies\n", scene_.rank);
    std::fflush(stdout);
    scene_.raise(kHasDied + number);
    if (how_ == "throw") throw Wrong("it dies, as asked");
    if (how_ == "end") scene_.job.abort(43, "it ends the job, as asked");
    die(scene_, how_);
}

void Deaths::begin(std::uint64_t step) {
    for (std::size_t number = 0; number < deaths_.size(); ++number) {
        const Death& death = deaths_[number];
        if (death.rank != scene_.rank || death.step != step || thread_ != 0) continue;
        if (death.after == 0 || how_ == "throw") die_now(number);
        std::thread([this, number, after = death.after] {
            sleep_us(after);
            die_now(number);
        }).detach();
    }
}

void Deaths::await_own() const {
    for (; is_victim(); sleep_us(200)) scene_.job.progress();
}

Ranks Deaths::dead() const {
    Ranks ranks = 0;
    for (std::size_t number = 0; number < deaths_.size(); ++number)
        if (scene_.at(kHasDied + number).load() != 0) ranks |= only(deaths_[number].rank);
    return ranks;
}

bool Deaths::explains(const Error& error, Ranks ranks) const {
    const int blamed = error.failed_rank();
    const bool is_right = blamed >= 0 && (dead() & ranks & only(blamed)) && says(error, fmt::format("rank {}", blamed));
    // A program that an exception leaves destroys its requests and communicators, which the others may be told first.
    if (how_ == "throw" && (error.code() == ErrorCode::timeout || error.code() == ErrorCode::state)) return (dead() & ranks) != 0;
    return error.code() == ErrorCode::peer_failed && is_right;
}

bool Deaths::survive(Ranks ranks, const std::function<void()>& call) const {
    if (victims_ == 0) return call(), true;
    try {
        call();
        return true;
    } catch (const Error& error) {
        // A rank that has been told leaves, and gives up its calls. Another rank may hear of that before it hears of the end.
        if (how_ == "end" && dead() != 0 && (error.code() == ErrorCode::peer_failed || error.code() == ErrorCode::state)) {
            await_own();  // Another thread of the victim still uses this object.
            throw JobHasEnded();
        }
        check(explains(error, ranks), "it depends on the ranks {:#b}, of which {:#b} have died, and got {} {}: {}", ranks, dead(),
              name(error.code()), error.failed_rank(), error.what());
        return false;
    }
}

void Deaths::await(std::size_t word, std::uint64_t value) const {
    // If a rank ends the job, the launcher ends those that wait here.
    for (; (scene_.at(word).load() & (kNo - 1)) < value; sleep_us(200)) scene_.job.progress();
}

bool Deaths::all_have(bool made) {
    if (victims_ == 0) return made;
    check(questions_ < kMostQuestions, "there are too few words for so many steps");
    const std::size_t word = kQuestions + static_cast<std::size_t>(thread_) * kMostQuestions + questions_++;
    if (!is_victim()) scene_.at(word).fetch_add(made ? 1 : kNo + 1);
    await(word, static_cast<std::uint64_t>(scene_.size - std::popcount(victims_)));
    const bool have = scene_.at(word).load() < kNo;
    // A victim may have been told of another death before it had what the others have. They would wait for its messages.
    if (is_victim() && have && !made)
        for (std::size_t number = 0; number < deaths_.size(); ++number)
            if (deaths_[number].rank == scene_.rank) die_now(number);
    return have;
}

void Deaths::look_at_half_made(const Communicator& communicator) const {
    const Ranks ranks = ranks_of(communicator);
    try {
        communicator.barrier();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::state && error.failed_rank() >= 0 && (ranks & only(error.failed_rank()))) return;
        survive(ranks, [&] { throw Error(error); });
    }
}

void Deaths::meet_all(int threads) const {
    scene_.at(kAllMeet).fetch_add(1);
    await(kAllMeet, static_cast<std::uint64_t>(scene_.size * threads));
}

void Deaths::meet_survivors() const {
    const std::size_t word = kSurvivorsMeet + static_cast<std::size_t>(thread_);
    scene_.at(word).fetch_add(1);
    await(word, static_cast<std::uint64_t>(scene_.size - std::popcount(victims_)));
}

}  // namespace rollcall::test
