#include "runtime/bootstrap/starters/torchrun.hpp"

#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "runtime/bootstrap/rendezvous/log.hpp"
#include "runtime/bootstrap/rendezvous/network.hpp"
#include "runtime/bootstrap/rendezvous/rendezvous.hpp"
#include "runtime/bootstrap/starters/environment.hpp"
#include "runtime/bootstrap/starters/key_file.hpp"
#include "runtime/settings/settings.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kTorchrunName = "a launcher like torchrun";
constexpr int kHighestPort = 65535;
/// A name that is not known yet, because its host is only being started, is asked for again.
constexpr auto kResolvePause = std::chrono::milliseconds(250);

int master_port(const runtime::Settings& settings) {
    if (settings.port != 0) return static_cast<int>(settings.port);
    const int port = whole_number("MASTER_PORT", kTorchrunName, 1, kHighestPort);
    return std::string_view(environment("TORCHELASTIC_USE_AGENT_STORE")) == "True" ? port + 1 : port;
}

bool names_loopback(const std::string& name) {
    const auto numeric = SocketAddress::parse(name, 0);
    return name == "localhost" || (numeric && numeric->loopback());
}

SocketAddress address_of_master(const std::string& name) {
    const SocketAddress address = SocketAddress::resolve(name, 1);
    if (address.wildcard()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("MASTER_ADDR={} stands for every address, and rank 0 listens at one only: set "
                                "it to the name of rank 0's host, or to 127.0.0.1 if all ranks are on one host",
                                name));
    }
    return address;
}

/// Where rank 0 listens. Many systems know their own name as a loopback address, and a name may stand for an address that is
/// translated on its way here.
std::string listening_address(const std::string& name, const std::string& net) {
    const SocketAddress meant = address_of_master(name);
    if (is_of_this_host(meant) && (!meant.loopback() || names_loopback(name))) return meant.address();
    std::string address = address_in_use(net);
    rendezvous_log(LogLevel::debug, "MASTER_ADDR={} is {}, at which other hosts do not reach this one: rank 0 listens at {}", name,
                   meant.address(), address);
    return address;
}

}  // namespace

bool torchrun_is_evident() {
    for (const char* variable : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
        if (std::getenv(variable) == nullptr) return false;
    }
    return true;
}

std::unique_ptr<Bootstrap> join_torchrun() {
    const auto settings = runtime::Settings::from_environment();
    const int size = whole_number("WORLD_SIZE", kTorchrunName, 1, kMostRanks);
    const int rank = whole_number("RANK", kTorchrunName, 0, size - 1);
    const int port = master_port(settings);
    if (port > kHighestPort) {
        throw Error(ErrorCode::bootstrap, fmt::format("MASTER_PORT={} leaves no port beside it: set ROLLCALL_PORT on all ranks", port - 1));
    }
    const std::string name = environment("MASTER_ADDR");
    const Key key =
        read_key_file(key_file_path(settings.key_file))
            .derive({"rollcall torchrun", name, std::to_string(port), std::to_string(size), environment("TORCHELASTIC_RUN_ID")});

    RendezvousOptions options = rendezvous_options();
    options.key = key;
    options.port = static_cast<std::uint16_t>(port);
    options.port_advice = "set ROLLCALL_PORT to a free port, to the same one on all ranks";
    options.invitation_may_be_stale = true;  // what answers there may still be the job before this one
    if (rank == 0) options.address = listening_address(name, settings.net);

    const Nanoseconds until = after(options.join_timeout);
    const Share share = [&](std::string mine) {
        if (!mine.empty()) return mine;
        for (;;) {
            try {
                return Invitation{address_of_master(name).address(), options.port, key}.text();
            } catch (const Error& error) {
                if (error.code() == ErrorCode::invalid_argument || now() >= until) throw;
                std::this_thread::sleep_for(kResolvePause);
            }
        }
    };
    return std::make_unique<Rendezvous>(kTorchrunName, rank, size, share, options);
}

}  // namespace rollcall::bootstrap
