#include "bootstrap/starters/torchrun.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/ports.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/starters/environment.hpp"
#include "bootstrap/starters/key_file.hpp"
#include "foundation/clock.hpp"
#include "foundation/log.hpp"
#include "foundation/settings.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kTorchrunName = "a launcher like torchrun";
constexpr int kHighestPort = 65535;
/// The number of ports that are tried, because other programs may use some of them.
constexpr std::uint32_t kPorts = 16;
/// A name may be unknown because its host is only being started. So it is asked for again after this time.
constexpr auto kResolvePause = std::chrono::milliseconds(250);

/// Returns ports that all ranks try in this order. MASTER_PORT is not among them, because torch's own store uses it, or will use it.
std::vector<std::uint16_t> ports_of(const Key& key) {
    const Key numbers = key.derive({"ports"});
    std::uint32_t begin = 0;
    std::memcpy(&begin, numbers.bytes().data(), sizeof begin);
    std::vector<std::uint16_t> ports;
    for (std::uint32_t i = 0; i < kPorts; ++i) ports.push_back(static_cast<std::uint16_t>(kFirstPort + (begin + i) % kPortRange));
    return ports;
}

/// Whether a name asks for a loopback address, and not only happens to stand for one. Some starters (Kubeflow) call rank 0's host localhost
/// on that host, and by its name on the others.
bool asks_for_loopback(const std::string& name) {
    const auto numeric = SocketAddress::parse(name, 0);
    if (numeric) return numeric->loopback();
    const std::string here = environment("LOCAL_WORLD_SIZE");
    return name == "localhost" && !here.empty() && here == environment("WORLD_SIZE");
}

std::vector<SocketAddress> addresses_of_master(const std::string& name) {
    std::vector<SocketAddress> addresses;
    try {
        addresses = SocketAddress::resolve(name, 1);
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("MASTER_ADDR={}: {}", name, error.what()));
    }
    if (std::any_of(addresses.begin(), addresses.end(), [](const SocketAddress& address) { return address.wildcard(); })) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("MASTER_ADDR={} stands for every address of a host, and rank 0 does not listen at all of them: set it to "
                                "the name of rank 0's host, or to 127.0.0.1 if all ranks are on one host",
                                name));
    }
    return addresses;
}

/// Returns the addresses where rank 0 listens, or why the name has none. Many systems know their own name as a loopback address, and a name
/// may stand for an address that is translated on the way to this host. The other ranks of rank 0's host may not know the name, too.
std::vector<std::string> listening_addresses(const std::string& name, const std::string& net, std::string& why_not) {
    std::string reason;
    try {
        // A name may stand for an address of IPv4 and one of IPv6, or for all addresses of this host. Others may know only some of them.
        std::vector<std::string> usable;
        for (const SocketAddress& meant : addresses_of_master(name)) {
            if (is_of_this_host(meant) && (!meant.loopback() || asks_for_loopback(name))) usable.push_back(meant.address());
            reason = fmt::format("MASTER_ADDR={} is {}, at which other hosts do not reach this one", name, meant.address());
        }
        if (!usable.empty()) return usable;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::invalid_argument) throw;
        reason = why_not = error.what();
    }
    std::string address = address_in_use(net);
    log_message(LogLevel::debug, "{}: rank 0 listens at {}", reason, address);
    return {address};
}

/// Returns the address where another rank looks for rank 0, in its attempt of this number. The attempts take all addresses of the name in
/// turn. If one is a loopback address, rank 0 is on this host.
std::string address_of_rank_0(const std::string& name, const std::string& net, std::size_t attempt) {
    const auto all = addresses_of_master(name);
    const SocketAddress& meant = all[attempt % all.size()];
    return meant.loopback() && !asks_for_loopback(name) ? address_in_use(net) : meant.address();
}

}  // namespace

bool torchrun_is_evident() {
    const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
    return is_set("RANK") && is_set("WORLD_SIZE") && (is_set("MASTER_ADDR") || is_set("MASTER_PORT"));
}

std::unique_ptr<Bootstrap> join_torchrun() {
    for (const char* variable : {"MASTER_ADDR", "MASTER_PORT"}) {
        if (!environment(variable).empty()) continue;
        throw Error(ErrorCode::bootstrap,
                    fmt::format("this process seems to be started by {}, because RANK, WORLD_SIZE and {} are set, but {} is not: set it to "
                                "the same value on all ranks, or start the job by `rollcall run`, or unset RANK to run alone",
                                kTorchrunName, std::strcmp(variable, "MASTER_ADDR") == 0 ? "MASTER_PORT" : "MASTER_ADDR", variable));
    }
    const auto settings = Settings::from_environment();
    const int size = whole_number("WORLD_SIZE", kTorchrunName, 1, kMostCredibleRanks);
    const int rank = whole_number("RANK", kTorchrunName, 0, size - 1);
    const int master_port = whole_number("MASTER_PORT", kTorchrunName, 1, kHighestPort);
    const std::string name = environment("MASTER_ADDR");
    const std::string key_file = key_file_path(settings.key_file);
    // Hosts may know rank 0's host by different names, so MASTER_ADDR is not a part of the key. But on one host it has one value for each
    // job.
    const Key key = read_key_file(key_file).derive(
        {"rollcall torchrun", std::to_string(master_port), std::to_string(size), environment("TORCHELASTIC_RUN_ID")});

    RendezvousOptions options = rendezvous_options();
    options.key = key;
    options.meeting = name;
    if (options.port == 0) {
        options.more_ports = ports_of(key);
        options.port = options.more_ports.front();
        options.more_ports.erase(options.more_ports.begin());
    }
    options.port_advice = "set ROLLCALL_PORT to a free port, to the same one on all ranks";
    options.absence_advice = fmt::format("the key file {} must be the same on all hosts", key_file);
    options.address_advice = fmt::format("MASTER_ADDR={} says where rank 0 is, and {}", name, options.absence_advice);
    options.invitation_may_be_stale = true;  // the process that answers there may still belong to the job before this one
    if (rank == 0) {
        std::string why_not;
        options.addresses = listening_addresses(name, settings.net, why_not);
        if (!why_not.empty()) options.absence_advice += "; " + why_not;
    }

    const Nanoseconds until = deadline_after(options.join_timeout);
    std::size_t attempt = 0;
    const Share share = [&](std::string mine) {
        if (!mine.empty()) return mine;
        for (;;) {
            try {
                return Invitation{address_of_rank_0(name, settings.net, attempt++), options.port, key}.text();
            } catch (const Error& error) {
                if (error.code() == ErrorCode::invalid_argument || monotonic_now() >= until) throw;
                std::this_thread::sleep_for(kResolvePause);
            }
        }
    };
    return std::make_unique<Rendezvous>(kTorchrunName, rank, size, share, options);
}

}  // namespace rollcall::bootstrap
