/// \file
/// Communicators that the ranks of a simulated job make, each at a time of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/model/job.hpp"

namespace rollcall::model_test {

/// A communicator of all ranks. The ranks make it together, as those of a real job do.
class Made {
  public:
    explicit Made(runtime::Simulation& simulation) : simulation_(simulation), states_(static_cast<std::size_t>(simulation.size())) {
        auto group = std::make_shared<runtime::Group>();
        group->name = "made";
        group->size = simulation.size();
        for (int rank = 0; rank < simulation.size(); ++rank) {
            numbers_.push_back(simulation.engine(rank).expect_communicator());
            group->id = std::max(group->id, numbers_.back());
        }
        group_ = std::move(group);
    }
    std::uint64_t id() const { return group_->id; }
    runtime::CommunicatorState& state(int rank) { return *states_[static_cast<std::size_t>(rank)]; }
    void add(int rank) {
        auto& state = states_[static_cast<std::size_t>(rank)];
        state = std::make_unique<runtime::CommunicatorState>(group_, rank);
        simulation_.engine(rank).add(*state);
        give_up(rank);
    }
    void give_up(int rank) { simulation_.engine(rank).stop_expecting(numbers_[static_cast<std::size_t>(rank)], id()); }
    void remove(int rank) {
        simulation_.engine(rank).remove(*states_[static_cast<std::size_t>(rank)]);
        states_[static_cast<std::size_t>(rank)].reset();
    }
    void add_everywhere() {
        for (int rank = 0; rank < simulation_.size(); ++rank) add(rank);
    }

  private:
    runtime::Simulation& simulation_;
    std::shared_ptr<const runtime::Group> group_;
    std::vector<std::uint64_t> numbers_;
    std::vector<std::unique_ptr<runtime::CommunicatorState>> states_;
};

}  // namespace rollcall::model_test
