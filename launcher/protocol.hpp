/// \file
/// The protocol between `rollcall run` and its agents on other hosts, over the pipes of the remote shell.
///
/// There are the frames (bootstrap/frames.hpp) of the table, those of the hubs (bootstrap/hub.hpp), `notice` (down) and
/// `abort` (up). An agent may have agents below it. It sends their frames up unchanged. It passes on frames from above
/// that are for all. A frame for one rank goes to the agent that leads to this rank.
///
///     up     hello           version, host name           first of all
///     down   order           an Order                     what this agent and those below it are to start
///     up     prepared        host, processors of each of its ranks, or why it cannot start them
///     down   go              -                            all agents are prepared
///     up     joined, exited  rank ...
///     up     output          rank, stream, bytes          no bytes: its end
///     down   taken           rank, stream, how many bytes were passed on: the window of that stream opens again
///     down   input           rank, bytes                  standard input; no bytes: its end
///     up     input_taken     rank, how many bytes
///     down   signal, kill    for all processes of the job
///     down   stacks          write on standard error where the ranks are; answered by `stacks_done` (host)
///     down   finish          whether the job failed       answered by `finished` (host), the last frame of an agent
///     up     lost            code, host, how, all hosts   nothing is heard of agents below any more
///     both   heartbeat       -                            when nothing else was said for a while
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

#include "launcher/hosts/binding.hpp"
#include "launcher/hosts/placement.hpp"
#include "launcher/processes/frames.hpp"

namespace rollcall::launcher {

inline constexpr std::uint32_t kAgentProtocol = 6;
/// The maximal size of a frame between agents. The longest frame is the answer to an exchange.
inline constexpr std::size_t kLongestAgentFrame = bootstrap::kLongestAnswer + 64;
/// How many bytes of one stream of a rank may be under way in a job of `size` ranks. Agents read no further until these have been passed
/// on. The launcher may have to hold all of them: together 256 MiB, or 8 KiB for each rank if that is more.
constexpr std::size_t stream_window(int size) {
    const std::size_t streams = 2 * static_cast<std::size_t>(std::max(size, 1));
    return std::clamp((std::size_t{256} << 20) / streams, std::size_t{4} << 10, std::size_t{256} << 10);
}

/// What one host is to run.
struct HostOrder {
    struct Rank {
        int rank = 0;
        int application = 0;  ///< Index into Order::applications.
        int local_rank = 0;
    };
    int index = 0;     ///< The index of the host in the job.
    std::string name;  ///< As the remote shell knows it.
    std::vector<Rank> ranks;
    /// The index in Order::hosts of the host whose agent starts this host's agent; -1: the launcher starts it.
    int above = -1;
};

/// What an agent is told of the job besides its hosts.
struct JobOrder {
    struct Application {
        std::vector<std::string> argv;
        std::vector<std::string> environment;  ///< K=V, besides `environment`.
    };
    int size = 0;  ///< Ranks of the job.
    int hosts_of_job = 1;
    std::string job;
    std::vector<Application> applications;
    std::vector<std::string> environment;  ///< K=V, on top of the agent's own.
    std::string directory;                 ///< Where the programs start.
    std::string real_directory;            ///< The same without symbolic links, for hosts that do not have `directory`; empty: none.
    MapBy map_by = MapBy::slot;
    BindTo bind_to = BindTo::automatic;
    std::vector<int> input_ranks;  ///< Those that get the launcher's standard input through `input`.
    std::string remote_shell;      ///< For agents below.
    std::string command;           ///< Path of `rollcall` on the hosts.
    /// After this time without a frame a link is lost. Until an agent is prepared, the longer of `silence` and `launch_timeout` holds,
    /// unless the ranks will not start any more.
    Nanoseconds silence = 0;
    Nanoseconds launch_timeout = 0;  ///< Within this time an agent is to answer.
};

struct Order : JobOrder {
    /// The host that reads this comes first, followed by all hosts below it.
    std::vector<HostOrder> hosts;
};

Blob encode_order(const Order& order);
Order decode_order(std::span<const std::byte> body);
/// Returns the parts of an order that its first host passes on: one for each host whose agent it starts, with the
/// hosts below that.
std::vector<Order> parts_below(const Order& order);

/// How a rank's process ended.
struct Exit {
    int rank = 0;
    int code = 0;  ///< 128 + n when signal n killed it; kExitNotFound, kExitNotExecutable when it was not started.
    bool signalled = false;
    bool joined = false;  ///< It was a rank of the job, not an ordinary program.
    bool started = true;  ///< Its program was executed.
    std::string how;      ///< Empty if there is nothing to report: the rank left in good order, with code 0.
};
Blob encode_exit(const Exit& exit);
Exit decode_exit(std::span<const std::byte> body);

/// Says that an agent can start its ranks, or why it cannot.
struct Prepared {
    int host = 0;
    std::string refusal;
    int code = 0;  ///< The job's exit code if the start is refused.
    HostBinding binding;
    std::string warning;  ///< Said by the station itself, and not passed on.
};
Blob encode_prepared(const Prepared& prepared);
Prepared decode_prepared(std::span<const std::byte> body);

/// Says that nothing is heard any more of these hosts. The first is the one that is lost. The others are below it.
Blob encode_lost(int code, std::string_view how, const std::vector<HostOrder>& hosts);

/// Encodes bytes of a stream of a rank.
Blob encode_stream(FrameType type, int rank, bool error, std::string_view bytes);

}  // namespace rollcall::launcher
