/// \file
/// What one process of a job is: its place, its transport, its lane, and its arrival slots.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/clock/common_clock.hpp"
#include "runtime/group/group.hpp"
#include "runtime/lane/engine.hpp"
#include "runtime/lane/lane.hpp"
#include "runtime/settings/settings.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// How many arrival slots a process of a job of this size has.
std::uint64_t slots_of(const Settings& settings, int size);

/// Arrival slots of a board, given to communicators as ranges. Any thread.
class SlotAllocator {
  public:
    explicit SlotAllocator(std::uint64_t slots) : slots_(slots) {}
    /// The first of `count` free slots, or kNoSlots.
    std::uint64_t take(std::uint64_t count);
    void give_back(std::uint64_t first);

  private:
    struct Range {
        std::uint64_t first, count;
    };
    std::mutex mutex_;
    std::uint64_t slots_;
    std::vector<Range> taken_;  ///< In order.
};

class Process {
  public:
    /// Joins the job: collective over it. Throws Error.
    Process(std::unique_ptr<bootstrap::Bootstrap> bootstrap, Settings settings, AlgorithmName algorithm_name);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    const bootstrap::Place& place() const { return bootstrap_->place(); }
    bootstrap::Bootstrap& bootstrap() { return *bootstrap_; }
    const Settings& settings() const { return settings_; }
    transport::Transport& transport() { return *transport_; }
    Engine& engine() { return *engine_; }
    Lane& lane() { return *lane_; }
    SlotAllocator& slots() { return slots_; }
    /// Job time: the clock of rank 0, once it was synchronised with.
    const std::shared_ptr<CommonClock>& clock() const { return clock_; }
    /// The host of each rank of the job, as a number: ranks with the same one share their clock.
    const std::vector<int>& clock_hosts() const { return clock_hosts_; }
    /// The group of all ranks of the job.
    std::shared_ptr<const Group> world() const { return world_; }
    /// Whether all of a group are on one host and can write each other's boards directly. The same on all of them.
    bool share_boards(const Group& group) const;
    /// "rank 3 on host a"
    std::string name_of(int world_rank) const { return engine_->name_of(world_rank); }

    /// Leaves in good order: all ranks come together, connections are closed. Collective. Throws Error{timeout, bootstrap} when they
    /// do not, Error{peer_failed} where a rank died: that job is left at once. Also then it is left. Only the first call does anything.
    void finalize();
    bool finalized() const { return finalized_; }

  private:
    static constexpr std::uint32_t kWorldId = 1;

    Settings settings_;
    std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
    SlotAllocator slots_;
    std::unique_ptr<transport::Transport> transport_;
    FrameArena arena_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Lane> lane_;
    std::shared_ptr<const Group> world_;
    std::vector<int> memory_;  ///< By rank: the first rank with which it shares memory; -1: it shares none.
    std::shared_ptr<CommonClock> clock_;
    std::vector<int> clock_hosts_;
    bool finalized_ = false;
};

}  // namespace rollcall::runtime
