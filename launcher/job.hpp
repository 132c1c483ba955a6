/// \file
/// The launcher's own station (station.hpp). It decides when and how the job ends.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "launcher/failures.hpp"
#include "launcher/first_exit.hpp"
#include "launcher/launch.hpp"
#include "launcher/station.hpp"
#include "launcher/streams/input.hpp"
#include "launcher/streams/output.hpp"

namespace rollcall::launcher {

/// One job, from the start of its ranks to the end of everything they started. It runs in a process of its own, with
/// one thread.
class Job final : private Station {
  public:
    /// The first host of `order` is this host, which may have no ranks.
    Job(Poller& poller, Guarded& guarded, const LaunchOptions& options, Order order);
    ~Job() override;
    /// Runs the job and returns its exit code.
    int run();

  private:
    /// The stages of a job.
    enum class Stage {
        starting,  ///< No rank runs yet.
        running,
        tracing,      ///< Its time is over, and stack traces of its ranks are being written.
        reporting,    ///< Surviving ranks have been told of the failure and may report.
        terminating,  ///< The ranks have been asked to end (SIGTERM).
        killing,
        finishing,  ///< All ranks are gone; agents clean up.
    };

    // Implements Station.
    void report(const Frame& frame) override;
    void to_above(const FrameToSend&) override {}
    void writes_to(int rank, bool error, Descriptor pipe) override;
    void say(const std::string& sentence) override;
    void signalled(int signal) override;
    int direct_input() const override { return direct_input_; }
    void output_taken(int, bool, std::size_t) override {}

    void tick();
    void prepared(const Prepared& prepared);
    void go_if_ready() {
        if (unprepared_.empty() && stage_ == Stage::starting && !is_stopped()) go();
    }
    void go();
    bool is_stopped() const { return stopped_at_ != kNever; }
    void has_joined(int rank);
    void ended(const Exit& exit);
    void host_lost(const Frame& frame);
    void not_all_joined();
    /// These ranks have failed. The job goes on if its options allow that. `started`: their programs were executed.
    void fail(const std::vector<int>& ranks, int code, const std::string& sentence, bool started = true);
    /// Ends the job because of a failure.
    void give_up(int code, const std::string& sentence);
    /// Whether ranks that have not failed can do without one that has.
    bool can_go_on() const;
    /// `ended_by`: the rank that has aborted the job, or -1.
    void end(int code, const std::string& sentence, int signal, int ended_by = -1);
    void terminate(int signal);
    void kill();
    void give_up_killing();
    void limit_flush();
    int finish_job();
    /// The names of the other hosts whose ranks' output has not all come.
    std::vector<std::string> hosts_still_writing() const;
    std::string name_of(int rank) const;
    bool anyone_to_report() const;
    bool has_first_here() const;

    const LaunchOptions& options_;
    Output output_;
    std::unique_ptr<Input> input_;
    int direct_input_ = -1;
    std::vector<const HostOrder*> host_of_;               // by rank
    std::unordered_map<int, std::size_t> place_of_host_;  // in order_.hosts, by index
    std::set<int> living_;                                // ranks
    std::set<int> joined_;
    std::set<int> unprepared_;  // hosts, by index
    std::set<int> untraced_;
    std::vector<Prepared> prepared_;  // by host

    Stage stage_ = Stage::starting;
    int code_ = 0;
    bool failure_is_said_ = false;  // of the output
    Failures failures_;
    std::optional<FirstExit> first_exit_;
    /// The first failure that was tolerated while no rank had joined.
    std::optional<std::string> failed_before_join_;
    std::string early_;                  // the first rank that ended without leaving the job, though with code 0
    Nanoseconds stage_until_;            // when the next stage begins
    Nanoseconds ended_at_;               // --timeout
    Nanoseconds join_until_;             // --launch-timeout, for ranks that have to join
    bool leaves_it_to_station_ = false;  // It is asked first why a host has not answered.
    Nanoseconds stopped_at_;             // by a stop from the terminal. Agents go on starting meanwhile, but no ranks start
    Nanoseconds flush_until_;            // output that is not taken by then is dropped
};

/// Decides where each rank runs, and which station starts the agent of each host. The launcher's host comes first.
Order make_order(const LaunchOptions& options);

}  // namespace rollcall::launcher
