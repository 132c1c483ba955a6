/// \file
/// One process of a job: its place, its transports, its lane and its arrival slots.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/gathered.hpp"
#include "foundation/costs.hpp"
#include "foundation/job_in_log.hpp"
#include "foundation/settings.hpp"
#include "runtime/card.hpp"
#include "runtime/clock/common_clock.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/lifelines.hpp"
#include "runtime/forks.hpp"
#include "runtime/group/group.hpp"
#include "runtime/group/slots.hpp"
#include "runtime/lane/lane.hpp"
#include "runtime/node/node_memory.hpp"
#include "runtime/node/segment.hpp"
#include "runtime/topology/binding.hpp"
#include "transports/machine.hpp"
#include "transports/options.hpp"
#include "transports/single_copy.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// The number of arrival slots that a process has in a job of this size.
std::uint64_t slots_of(const Settings& settings, int size);

class Process;

/// The two jobs whose ranks are connected. Each of them also has its own job.
struct TwoJobs {
    std::shared_ptr<Process> own;      ///< This process in its own job, or in the connection that is connected with another job.
    int in_first = 0;                  ///< So many ranks, from the first on, are ranks of the first job.
    std::array<std::string, 2> names;  ///< The names of the jobs, for error messages.

    /// In errors, ranks are named by both of their numbers: "rank 3 on host a (rank 1 of job viewer)".
    void name_ranks(std::vector<std::string>& hosts) const;
};

class Process : public std::enable_shared_from_this<Process> {
  public:
    /// Joins the job. Collective over all ranks of the job. Throws Error. `two_jobs`: the ranks are those of two jobs that become
    /// connected, and world() has two groups.
    Process(std::unique_ptr<bootstrap::Bootstrap> bootstrap, Settings settings, AlgorithmName algorithm_name, FindPartAlone find_part_alone,
            std::optional<TwoJobs> two_jobs = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    const bootstrap::Place& place() const { return bootstrap_->place(); }
    bootstrap::Bootstrap& bootstrap() { return *bootstrap_; }
    const Settings& settings() const { return settings_; }
    /// The transport that carries messages.
    transport::Transport& transport() { return *transports_.front(); }
    Engine& engine() { return *engine_; }
    Lane& lane() { return *lane_; }
    /// Slots for one of its communicators; empty if there are none.
    Slots take_slots(std::uint64_t count);
    /// Job time: the clock of rank 0, once the ranks have synchronised with it.
    const std::shared_ptr<CommonClock>& clock() const { return clock_; }
    /// The host of each rank of the job, as a number. Ranks with the same number share a clock.
    const std::vector<int>& clock_hosts() const { return clock_hosts_; }
    /// For each rank of the job: the first rank on the same host.
    const std::vector<int>& hosts() const { return hosts_; }
    /// The group of all ranks of the job.
    std::shared_ptr<const Group> world() const { return world_; }
    /// Whether all members of the group are on one host and can write each other's boards directly. All members get the same answer.
    bool share_boards(const Group& group) const;
    /// Whether all members of the group have node memory in common. A group of one rank needs none. All members get the same answer.
    bool share_node(const Group& group) const { return group.size == 1 || (node_ && node_->holds(group)); }
    /// Sets what follows from the members of a new group and from the job: the order of world ranks, the nodes, and the costs.
    void complete(Group& group) const {
        group.costs = &costs_;
        sort_members(group);
        find_nodes(group, sharing_);
    }
    /// For example "rank 3 on host a".
    std::string name_of(int world_rank) const { return engine_->name_of(world_rank); }

    /// Leaves as if this process had died, with its connections. Others learn that at once, also if handles keep this object.
    void vanish(const char* why) noexcept;

    /// Whether this is the connection of two jobs.
    bool connects_jobs() const noexcept { return own_ != nullptr; }
    /// This process in its own job.
    Process& job() noexcept { return own_ ? own_->job() : *this; }
    /// The name of the own job of this process, for the log.
    const std::string& job_name() const noexcept { return own_ ? own_->job_name() : place().job; }
    /// What warnings begin with.
    std::string in_log() const { return job_in_log(job_name()); }
    /// finalize() first ends this connection to another job, whose TwoJobs::own this process is. Any thread may call both functions.
    void add_connection(Process& connection);
    /// The connections to other jobs that are left, in the order in which they were made.
    std::vector<std::shared_ptr<Process>> connections() const;

    /// \{
    /// As in Lane, for this job and its connections to other jobs. Any thread may call progress().
    bool progress();
    bool prepare_to_sleep();
    /// \}

    /// Memory that the program takes. Other ranks of the node can read it (node::Buffers), if there is node memory and the limit of file
    /// sizes allows it. `bytes` is above 0, and the same in both calls. Any thread may call both functions. Throws Error{state} if there is
    /// no memory.
    void* allocate(std::uint64_t bytes);
    void release(void* memory, std::uint64_t bytes);

    /// Leaves the job in good order: waits for all ranks, then closes the connections. Collective. The job is left also when it throws.
    /// Only the first call does anything. Throws:
    /// - Error{timeout} or Error{bootstrap} if the ranks do not come together.
    /// - Error{peer_failed} if a rank died, and the others have not agreed to go on without it (Engine::loss()). If the death is known at
    ///   the beginning of the call, it does not wait for other ranks, but for messages of this rank that have not left, for a second at
    ///   most.
    /// - The Error of a call that failed after its caller had left, of which no caller here was told: calls that do not match, or data that
    ///   was handed over and not delivered. The job is left in good order before it is thrown.
    /// - The first Error with which the end of a connection to another job failed. The job is left in good order before it is thrown.
    /// - Error{state} in a forked child.
    void finalize();
    bool finalized() const { return finalized_.load(std::memory_order_relaxed); }
    /// Whether this process is a child that the rank has forked. The lane, the transport and the bootstrap belong to the rank, and the
    /// child must not touch them.
    bool forked() const { return forks_so_far != forks_at_birth_; }
    /// Throws Error{state} in a forked child, because its calls would be mistaken for those of the rank.
    void check_not_forked() const {
        if (forked()) [[unlikely]]
            refuse_child();
    }
    /// Throws Error{state} in a forked child, and after finalize().
    void check_usable() const {
        check_not_forked();
        if (finalized()) [[unlikely]]
            refuse_finalized();
    }

  private:
    static constexpr std::uint32_t kWorldId = 1;

    /// What the constructor needs from the cards of all ranks.
    struct Met {
        std::vector<std::vector<std::span<const std::byte>>> addresses;  ///< For each transport, by rank. They refer to the cards.
        std::vector<std::string> hosts;                                  ///< By rank, as are the next three.
        std::vector<node::Handle> handles;
        std::vector<transport::SingleCopyHandle> memories;
        struct Eager {
            std::uint32_t allowance;
            bool accepts_data;
        };
        std::vector<Eager> eager;      ///< As on the cards.
        std::vector<Cpus> neighbours;  ///< Those of the ranks that share CPUs with this rank, itself included.
        bool woken_by_kernel = false;  ///< As in policy_of().
    };

    // The steps of the constructor, in order.
    void make_transport(const transport::TransportOptions& options);
    Engine::Options engine_options(AlgorithmName algorithm_name, FindPartAlone find_part_alone) const;
    /// The memory that this rank could share with others on its node.
    void make_segment();
    /// The card refers to the arguments and to this process. `addresses`: one for each transport.
    Card own_card(std::string_view cpus, std::span<const std::vector<std::byte>> addresses, std::uint64_t clock) const;
    /// Reads the cards, and tells the lifelines what is on them. Throws Error{bootstrap} if a rank cannot be one of this job.
    Met meet(const Card& mine, const bootstrap::Gathered& cards);
    /// Maps the memory of this rank's node, if other ranks of the node can share it.
    void share_memory(const Met& met);
    /// Says why no other rank shares memory with this one, which could share some.
    std::string why_alone(const Met& met) const;
    void find_sharing(const std::vector<node::Handle>& handles);
    /// On rank 0: warns of the nodes whose ranks share no memory because of a limit.
    void warn_of_limits(const std::vector<node::TooLong>& too_long) const;
    /// Connects the transports, and tells the engine how it reaches the other ranks. `storage` keeps the cards.
    void connect(const Met& met, const std::shared_ptr<const void>& storage);
    void wait_for_neighbours();
    void make_world(const std::optional<TwoJobs>& two_jobs);
    void make_lane(const IdlePolicy& policy);

    /// What finalize() has found.
    struct EndFailures {
        std::optional<Error> failure;  ///< Why the job does not end in good order.
        std::optional<Error> untold;   ///< The failure of a call of which no caller was told.
    };
    /// Waits for the other ranks and for what is left to be sent, and closes the connections.
    EndFailures end_transfers();
    /// The same where no rank was lost. Throws Error{timeout, bootstrap, peer_failed}.
    void meet_all_and_close();
    /// From now on nothing happens in this job, and its calls fail.
    void stop_lane() noexcept;
    /// Tells the others that this rank does not leave in good order, and throws the failure.
    [[noreturn]] void leave_because_of(const Error& failure);
    /// Waits until all ranks that are left are in finalize(), when others were lost before. Throws Error{timeout, peer_failed}.
    void meet_those_left();
    /// Waits for the deputies whose callers have left. Throws Error{timeout, peer_failed}.
    void deliver_what_is_left();
    /// After a failure: the same for messages of which send() has made copies, too, but for a limited time.
    void deliver_what_can_be();
    /// Makes progress on the transports until the function returns true for each of them, or this time of monotonic_now() is over.
    void progress_until(const std::function<bool(transport::Transport&)>& done, Nanoseconds until);
    bool progress_transports();  ///< Returns whether anything happened.
    [[noreturn]] void refuse_child() const;
    [[noreturn]] void refuse_finalized() const;
    /// The program calls this in order to leave.
    const char* way_out() const noexcept { return connects_jobs() ? "Intercommunicator::disconnect()" : "Job::finalize()"; }
    /// Returns the first failure. Further ones are logged.
    std::optional<Error> end_connections();
    void remove_connection(Process& connection);

    const std::shared_ptr<Process> own_;  ///< TwoJobs::own. Null: this is no connection of two jobs.
    Settings settings_;
    Costs costs_;  ///< Those that rank 0 has read, on all ranks.
    std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
    SlotAllocator slots_;
    Slots slots_of_world_;
    std::vector<std::unique_ptr<transport::Transport>> transports_;
    transport::SingleCopy* single_copy_ = nullptr;  ///< The first transport, if it is a SingleCopy, or null.
    transport::RealMachine machine_;
    FrameArena arena_;
    std::unique_ptr<Lifelines> lifelines_;  ///< Null: the job is on one host, or a silent host never counts as lost.
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<node::Segment> segment_;
    std::unique_ptr<node::NodeMemory> node_;                                     ///< Null: no memory is shared.
    std::string node_memory_in_words_ = "none, because there is no other rank";  ///< For the log.
    bool all_share_memory_ = false;                                              ///< Whether all ranks of the job share node memory.
    std::string single_copy_in_words_ = "no other rank on this host";            ///< For the log.
    std::unique_ptr<Lane> lane_;
    std::shared_ptr<const Group> world_;
    std::vector<int> hosts_;
    std::vector<int> sharing_;     ///< For each rank: the first rank with which it shares node memory, or itself.
    std::vector<bool> by_memory_;  ///< For each rank: whether the transport reaches it through the memory of this host.
    std::shared_ptr<CommonClock> clock_;
    std::vector<int> clock_hosts_;
    std::uint32_t forks_at_birth_ = forks_so_far;
    std::atomic<bool> finalized_{false};
    mutable std::mutex connecting_;
    std::vector<Process*> connections_;  ///< Those that exist, also after their end. Guarded by `connecting_`.
};

}  // namespace rollcall::runtime
