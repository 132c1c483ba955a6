/// \file
/// A random program on one thread of a rank. random_programs.cpp says why it is legal.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/ranks/random/random_calls.hpp"
#include "tests/process/ranks/random/random_deaths.hpp"
#include "tests/process/ranks/random/whereabouts.hpp"

namespace rollcall::test {

inline constexpr std::size_t kMostUnderWay = 30;

class RandomProgram {
  public:
    RandomProgram(const Scene& scene, const Communicator& world, int thread, Deaths deaths)
        : scene_(scene),
          same_(std::stoull(scene.word(0)) + static_cast<std::uint64_t>(thread)),
          own_(own_random(scene, same_())),
          only_("+" + scene.word(3) + "+"),
          world_(world),
          here_(scene, thread),
          deaths_(std::move(deaths)) {}

    /// Runs for this time and a bit longer. Returns the number of steps.
    std::uint64_t run(std::chrono::milliseconds time);
    /// Runs so many steps, and ends without the ranks that have died.
    std::uint64_t run_with_deaths(std::uint64_t steps);
    /// Runs so many steps, and ends the job while calls are under way.
    std::uint64_t run_and_drop(std::uint64_t steps);

  private:
    std::uint64_t run(const std::function<void()>& program);
    void make_places();
    void pause();
    bool is_wanted(const std::string& name) const { return only_ == "++" || only_.find("+" + name + "+") != std::string::npos; }
    void step();

    void add(std::unique_ptr<DrawnCall> call, Request request);
    void make(std::unique_ptr<DrawnCall> call, Form form, Ranks ranks);
    void collective(Random& same, Form form);
    void finish_iteration(PlannedCall& planned) {
        if (planned.is_under_way) finish(*std::ranges::find(under_way_, &planned, &UnderWay::planned));
    }
    void make_plan(Random& same);
    void use_plan(Random& same);
    void message(Random& same);
    void divide_again(Random& same);
    void give_up(Random& same);

    void finish_some();
    void finish_all() {
        while (!under_way_.empty()) finish_some();
    }
    void finish(UnderWay& each);
    void has_failed(std::unique_ptr<DrawnCall> call);
    void end_without_the_dead();
    void drop_everything();

    const Scene& scene_;
    Random same_, own_;
    const std::string only_;
    const Communicator world_;
    Whereabouts here_;
    Deaths deaths_;
    std::vector<Place> places_;
    Intercommunicator between_;
    bool is_first_ = false;
    std::uint64_t count_ = 0;
    std::deque<std::unique_ptr<PlannedCall>> plans_;
    std::vector<UnderWay> under_way_;
    std::deque<std::unique_ptr<DrawnCall>> failed_;  ///< Their buffers are the program's again.
};

}  // namespace rollcall::test
