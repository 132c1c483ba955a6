/// \file
/// For random programs: which ranks die, when and how, and which errors the other ranks may get because of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

/// A set of ranks of the world communicator: bit r stands for rank r.
using Ranks = std::uint64_t;
constexpr Ranks only(int world_rank) { return Ranks{1} << world_rank; }
Ranks ranks_of(const Communicator& communicator);
Ranks ranks_of(const Intercommunicator& between);

/// The job was ended by a rank that dies, and this rank has been told.
struct JobHasEnded {};

/// The deaths in one random program: one or two ranks die. All ranks draw the same. A program in which no rank dies has a `Deaths` without
/// victims.
class Deaths {
  public:
    /// No rank dies.
    explicit Deaths(const Scene& scene) : scene_(scene) {}
    /// The victims come to their deaths within so many steps of their first thread. `how`: kill, exit0, exit7 and abort, as in die();
    /// throw: an exception leaves the program; end: the rank ends the whole job.
    Deaths(const Scene& scene, int thread, std::uint64_t seed, std::uint64_t steps, std::string how);

    Ranks victims() const { return victims_; }
    bool is_victim() const { return (victims_ & only(scene_.rank)) != 0; }
    /// A step of this rank's program begins; 0: its communicators are about to be made. The rank may die now, or soon and at any place.
    void begin(std::uint64_t step);
    /// A victim that has come to the end of its program waits here for its death.
    void await_own() const;

    /// Makes a call that depends on these ranks. Returns whether it succeeded. An error must name one of them that dies.
    bool survive(Ranks ranks, const std::function<void()>& call) const;
    /// Whether all ranks that live on have made a communicator. All of them say whether they have. Only then may it be used for messages,
    /// because no error tells a rank that another one will never send. A rank that is to die and does not have what they have dies now.
    bool all_have(bool made);
    /// Ranks that have a communicator which others do not have learn that in its first call.
    void look_at_half_made(const Communicator& communicator) const;
    /// \{
    /// Waits until all threads of all ranks, or this thread of all ranks that live on, have come here. They meet once.
    void meet_all(int threads) const;
    void meet_survivors() const;
    /// \}

  private:
    struct Death {
        int rank;
        std::uint64_t step;
        int after;  // Microseconds; 0: in the calling thread, between two calls.
    };
    void die_now(std::size_t number) const;
    Ranks dead() const;
    bool explains(const Error& error, Ranks ranks) const;
    void await(std::size_t word, std::uint64_t value) const;

    const Scene& scene_;
    const int thread_ = 0;
    Ranks victims_ = 0;
    std::string how_;
    std::vector<Death> deaths_;
    std::size_t questions_ = 0;
};

}  // namespace rollcall::test
