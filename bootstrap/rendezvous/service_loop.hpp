/// \file
/// What the thread of a service does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/hub_host.hpp"
#include "bootstrap/notice_queue.hpp"
#include "bootstrap/poller.hpp"
#include "bootstrap/rendezvous/assembly.hpp"
#include "bootstrap/rendezvous/authenticating_acceptor.hpp"
#include "bootstrap/rendezvous/connection.hpp"
#include "bootstrap/rendezvous/service.hpp"
#include "foundation/clock.hpp"

namespace rollcall::bootstrap {

/// Only the thread that runs the loop may use it, except for wake() and announce().
class Service::Loop : public HubHost::Routes {
  public:
    enum class Wish : std::uint64_t { go_on, finish, stop };

    Loop(ServiceOptions options, Descriptor local, std::optional<Root> root, std::optional<Leader> leader);
    ~Loop() override;
    /// Runs until it is told to stop, or until nothing is left to do.
    void run();
    /// Thread-safe. `limit` applies to Wish::finish.
    void wake(Wish wish, Timeout limit);
    /// Thread-safe. Tells all ranks that the job is being ended. Returns true if that has been sent within the limit.
    bool announce(Notice notice, Timeout limit);

  private:
    enum class Stage {
        assembling,
        refused,  ///< The job cannot start. All ranks that come are told why.
        running,
    };
    /// The other side of a connection: a rank of this host, the leader of another host, or the root.
    struct Peer {
        Peer(Poller& poller, Descriptor socket, Session session, bool sealed)
            : connection(std::move(socket), std::move(session), sealed), notices(poller) {}
        Connection connection;
        int number = 0;
        Descriptor process;    ///< For a rank: readable when it is dead.
        NoticeQueue notices;   ///< For a rank: open once it was welcomed.
        bool sending = false;  ///< The poller waits for room in the connection.
        bool left = false;     ///< It has left in good order, so its end is no loss.
        bool unheard = false;  ///< It is being lost, and the last of what it sent may not have been read.
        std::string farewell;  ///< Why it goes, if it has said so and has not left in good order. For a leader or the root: its rank has.
        std::string host;      ///< For a leader.
        int hub = -1;          ///< For a leader: its index among the hubs below.
        bool brought = false;  ///< For a leader: a rank has come there.
        Nanoseconds heard_at = 0;
        int rank() const { return connection.peer().rank; }
        Identity::Kind kind() const { return connection.peer().kind; }
    };

    // Connections (service_loop.cpp).
    void admit(Descriptor socket, Session session, AuthenticatingAcceptor::From from, pid_t process);
    Peer& add(Descriptor socket, Session session, bool sealed);
    void hear(int number);
    void post(Peer& peer, const std::shared_ptr<const Blob>& frame);
    void flush(Peer& peer);
    void drop(int number);
    void lose_later(Peer& peer, std::string how);
    void lose_unheard(Peer& peer);
    void process_losses();
    void say_farewell();
    void beat(Nanoseconds time);
    Nanoseconds next_moment() const;
    void keep_time(Nanoseconds expected);
    void announce_now();
    bool is_over();
    bool flushed() const;
    bool has_leaders() const;
    bool is_root() const { return options_.self.kind == Identity::Kind::root; }

    // What is said to the others and heard from them (service_talk.cpp).
    void handle(Peer& peer, const Frame& frame);
    void hear_rank(Peer& peer, const Frame& frame);
    void hear_leader(Peer& peer, const Frame& frame);
    void hear_root(const Frame& frame);
    static void note_farewell(Peer& peer, const Frame& frame);
    void arrived(int node, const std::string& host, int rank, int size);
    void refuse(const Error& error);
    void refuse(Peer& peer, const Error& error);
    void assembled();
    void start_hub(const std::string& job, int size, int hosts, const std::vector<int>& ranks, std::vector<std::vector<int>> below);
    int welcome(Peer& peer, const Place& place);
    // Implements HubHost::Routes.
    void to_rank(int rank, const FrameToSend& frame) override;
    void notify_ranks(const FrameToSend& notice) override;
    void to_below(int hub, const FrameToSend& frame) override;
    void to_above(const FrameToSend& frame) override;
    void end_job(const std::shared_ptr<const Blob>& notice, const Peer* except);
    void lost(Peer& peer, const std::string& how);
    void lost_root(const std::string& how);
    bool all_left() const;
    Peer* peer_of_rank(int rank);

    ServiceOptions options_;
    Stage stage_ = Stage::assembling;
    Poller poller_;
    Descriptor bell_;
    std::atomic<Wish> wish_ = Wish::go_on;
    std::atomic<Nanoseconds> finish_by_ = kNever;
    std::mutex announcing_;
    std::condition_variable announcement_is_out_;
    std::optional<Notice> announcement_;
    bool announced_ = false, announcing_now_ = false;
    std::optional<AuthenticatingAcceptor> acceptor_;
    std::map<int, std::unique_ptr<Peer>> peers_;
    std::map<int, int> ranks_;  ///< Ranks of this host, with the number of their peer.
    std::map<int, int> hubs_;   ///< Indices of the hubs below, with the number of their peer.
    int root_ = 0;              ///< The number of the peer that is the root; 0: this process is the root, or the root is gone.
    int next_number_ = 1;
    std::vector<std::pair<int, std::string>> losing_;  ///< Peers that are lost, and how. They stay here until they are not in use.
    LastDigest last_digest_;                           ///< Of what went over the network.
    Assembly assembly_;
    Nanoseconds assembled_by_ = kNever;
    Nanoseconds beat_at_ = kNever;
    std::optional<Error> refusal_;
    std::optional<HubHost> hub_;
    std::string root_host_;
    bool said_goodbye_ = false;  ///< This is a leader, and has shut down its side of the connection to the root.
};

}  // namespace rollcall::bootstrap
