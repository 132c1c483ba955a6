#include "bootstrap/slurm/srun.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/meeting_place.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/slurm/handout.hpp"
#include "bootstrap/starters/key_file.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/log.hpp"
#include "foundation/settings.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr std::string_view kSrunName = "srun (Slurm)";
/// How long one attempt to reach one port may take. What does not answer by then is not of this job.
constexpr Nanoseconds kAttemptPatience = 2000 * kMillisecond;
/// The pauses between rounds of attempts. They are short at first, and never so long that a late rank 0 is found much later.
constexpr Nanoseconds kShortestRetryNap = 10 * kMillisecond;
constexpr Nanoseconds kLongestRetryNap = 500 * kMillisecond;

/// The name is no secret, because each side checks the user of the other.
MeetingPlace place_of_node(const SlurmStep& step, Nanoseconds deadline) {
    const auto patience = MeetingPlace::Patience::within(deadline == kNever ? kForever : Timeout(deadline - monotonic_now()));
    return MeetingPlace(fmt::format("rollcall-srun-{}-{}-{}", ::geteuid(), step.id(), step.node), patience);
}

/// Returns the addresses where the others look for rank 0. A host often knows itself by a loopback address that no other host can use, or
/// others know it by an address that is translated on the way to it. Then the address that the job would use is returned, too.
std::vector<std::string> own_addresses(const SlurmStep& step, const std::string& net, std::string& failure) {
    std::vector<std::string> addresses;
    bool reachable = false;
    const auto add = [&](const std::string& host) {
        for (const SocketAddress& found : SocketAddress::resolve(host, 0)) {
            reachable = reachable || (!found.loopback() && is_of_this_host(found));
            if (std::find(addresses.begin(), addresses.end(), found.address()) == addresses.end()) addresses.push_back(found.address());
        }
    };
    for (const std::string& host : step.first_host) {
        try {
            add(host);
        } catch (const Error& error) {  // only Slurm knows the name
            failure = error.what();
        }
    }
    if (!reachable) add(address_in_use(net));
    return addresses;
}

/// Listens at each of these addresses that belongs to this host, at the first free port of the step.
std::vector<Descriptor> listen_at_ports(const SlurmStep& step, const std::string& net, std::string& failure) {
    std::vector<Descriptor> listeners;
    for (const std::string& address : own_addresses(step, net, failure)) {
        bool listens = false;
        for (int attempt = 0; attempt < kSlurmPorts && !listens; ++attempt) {
            try {
                listeners.push_back(listen_at(*SocketAddress::parse(address, slurm_port(step, attempt)), ""));
                listens = true;
            } catch (const Error& error) {  // the port is taken, or the address belongs to another host
                failure = error.what();
            }
        }
    }
    return listeners;
}

/// Tries again and again. The pauses differ between processes.
template <class Attempt>
std::optional<std::string> keep_trying(Nanoseconds deadline, const Attempt& attempt) {
    std::minstd_rand random(static_cast<unsigned>(::getpid()));
    for (Nanoseconds nap = kShortestRetryNap; monotonic_now() < deadline; nap = std::min(2 * nap, kLongestRetryNap)) {
        if (auto text = attempt()) return text;
        const Nanoseconds jittered = nap / 2 + std::uniform_int_distribution<Nanoseconds>(0, nap)(random);
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<Nanoseconds>(0, std::min(jittered, deadline - monotonic_now()))));
    }
    return std::nullopt;
}

std::string ask_first_node(const SlurmStep& step, Credentials& credentials, Nanoseconds deadline) {
    std::string failure;
    const auto try_address = [&](const std::string& known_as) -> std::optional<std::string> {
        for (int attempt = 0; attempt < kSlurmPorts && monotonic_now() < deadline; ++attempt) {
            const Nanoseconds until = std::min(deadline, monotonic_now() + kAttemptPatience);
            const auto address = *SocketAddress::parse(known_as, slurm_port(step, attempt));
            std::string why;
            if (const Descriptor socket = connect_to(address, until, why)) {
                if (auto text = ask_for_handout(socket.get(), step.id(), step.node, credentials, until, why)) return text;
                why = fmt::format("at {} {}", address.text(), why);
            } else if (monotonic_now() >= until) {
                attempt = kSlurmPorts;  // nothing answers at this address, and its other ports would take as long
            }
            failure = why;
        }
        return std::nullopt;
    };
    const auto text = keep_trying(deadline, [&]() -> std::optional<std::string> {
        for (const std::string& host : step.first_host) {
            try {
                for (const SocketAddress& known_as : SocketAddress::resolve(host, 0)) {
                    if (auto got = try_address(known_as.address())) return got;
                }
            } catch (const Error& error) {  // only Slurm knows the name, or munged is gone
                failure = error.what();
            }
        }
        return std::nullopt;
    });
    if (text) return *text;
    throw Error(ErrorCode::timeout,
                fmt::format("rank {}: rank 0 of Slurm's step {} was not found in time at {}, ports from {} on, with credentials by {} "
                            "(last: {}); it is expected on the first node of the step; start the job in another way (srun --mpi=pmi2, "
                            "`rollcall run`) if names or ports are not reached",
                            step.rank, step.id(), fmt::join(step.first_host, " or "), slurm_port(step, 0), credentials.name(), failure));
}

std::string ask_own_node(const SlurmStep& step, Nanoseconds deadline) {
    OpenCredentials open;
    MeetingPlace place = place_of_node(step, deadline);
    std::string failure = "nobody is there";
    const auto text = keep_trying(deadline, [&]() -> std::optional<std::string> {
        const Descriptor socket = place.connect();
        return socket ? ask_for_handout(socket.get(), step.id(), step.local_rank, open, deadline, failure) : std::nullopt;
    });
    if (text) return *text;
    throw Error(ErrorCode::timeout,
                fmt::format("rank {}: the first task of this node of Slurm's step {} gave no invitation in time (last: {}); "
                            "that task may be waiting for rank 0; its own error says so",
                            step.rank, step.id(), failure));
}

/// Makes the listener for the other tasks of this node.
Descriptor listen_for_node(const SlurmStep& step, Nanoseconds deadline) {
    MeetingPlace place = place_of_node(step, deadline);
    bool other_program = false;
    Descriptor listener;
    // Another process may hold a name and admit no rank. Such a name is passed over only after a while.
    while (!listener && !other_program && monotonic_now() < deadline) {
        other_program = static_cast<bool>(place.connect());
        if (!other_program) listener = place.listen();
        if (!listener && !other_program) std::this_thread::sleep_for(std::chrono::nanoseconds(kShortestRetryNap));
    }
    if (listener) return listener;
    if (!other_program) {
        throw Error(
            ErrorCode::timeout,
            fmt::format("rank {}: the tasks of this node of Slurm's step {} could not meet in time: a process holds their names and "
                        "does not answer",
                        step.rank, step.id()));
    }
    throw Error(ErrorCode::bootstrap,
                fmt::format("rank {}: another process already speaks for this node of Slurm's step {}: only one program of a task "
                            "can join its job",
                            step.rank, step.id()));
}

/// Returns the numbers below `count`, except `own`.
std::set<int> others(int count, int own) {
    std::set<int> numbers;
    for (int number = 0; number < count; ++number)
        if (number != own) numbers.insert(numbers.end(), number);
    return numbers;
}

std::shared_ptr<Credentials> step_credentials(const SlurmStep& step) {
    const auto settings = Settings::from_environment();
    std::string why;
    try {
        return munge_credentials(settings.munge_socket);
    } catch (const Error& error) {
        why = error.what();
    }
    try {
        const Key key = read_key_file(key_file_path(settings.key_file));
        log_message(LogLevel::debug, "Slurm's step {}: {}; the key file is used instead", step.id(), why);
        return std::make_shared<KeyCredentials>(key.derive({"rollcall srun", step.id()}));
    } catch (const Error& error) {
        throw Error(
            ErrorCode::bootstrap,
            fmt::format("rank {} of Slurm's step {}: nothing can protect the data between the nodes: {}; and {}; set ROLLCALL_MUNGE_SOCKET "
                        "or ROLLCALL_KEY_FILE, or start the job in another way (srun --mpi=pmi2, `rollcall run`)",
                        step.rank, step.id(), why, error.what()));
    }
}

}  // namespace

SlurmShare::SlurmShare(SlurmStep step, std::shared_ptr<Credentials> credentials, const RendezvousOptions& options)
    : step_(std::move(step)), credentials_(std::move(credentials)), net_(options.net), timeout_(options.join_timeout) {}

std::string SlurmShare::operator()(std::string mine) {
    const Nanoseconds deadline = deadline_after(timeout_);
    if (step_.local_rank != 0) return ask_own_node(step_, deadline);
    // This comes first, so that the other tasks of this node can queue up while this task asks for the text.
    std::vector<Descriptor> local_listeners;
    if (step_.local_size > 1) {
        local_listeners.push_back(listen_for_node(step_, deadline));
    }
    if (step_.rank != 0) mine = ask_first_node(step_, *credentials_, deadline);
    OpenCredentials open;
    Handout handout(step_.id(), mine);
    handout.listen(fmt::format("tasks of node {}", step_.node), std::move(local_listeners), open,
                   others(step_.local_size, step_.local_rank), true);
    if (step_.rank == 0 && step_.nodes > 1) {
        std::string failure;
        auto listeners = listen_at_ports(step_, net_, failure);
        if (listeners.empty())
            throw Error(ErrorCode::bootstrap,
                        fmt::format("rank 0 of Slurm's step {} cannot listen at {}, from port {} to {} (last: {}); start the job by srun "
                                    "--mpi=pmi2 or rollcall run",
                                    step_.id(), fmt::join(step_.first_host, " or "), slurm_port(step_, 0),
                                    slurm_port(step_, kSlurmPorts - 1), failure));
        handout.listen("nodes", std::move(listeners), *credentials_, others(step_.nodes, step_.node), false);
    }
    handout.serve(deadline);
    return mine;
}

std::unique_ptr<Bootstrap> join_srun() {
    const SlurmStep step = slurm_step();
    const RendezvousOptions options = rendezvous_options();
    // Only the first task of a node needs the credentials. But every task makes them, so that each one reports at once if something is
    // missing.
    std::shared_ptr<Credentials> credentials;
    if (step.nodes > 1) credentials = step_credentials(step);
    return std::make_unique<Rendezvous>(std::string(kSrunName), step.rank, step.size, SlurmShare(step, credentials, options), options);
}

}  // namespace rollcall::bootstrap
